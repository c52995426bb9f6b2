// Texts in the language of the page, whose catalogue the server has. The English text is the key; values are put into its
// named placeholders.

export const language = globalThis.document?.documentElement?.lang || "en";
const catalogue = language === "en" ? {} : await load();

/** The catalogue; empty if the server does not answer, so texts are in English then. */
async function load() {
  try {
    return await (await fetch(new URL(`../texts/${language}`, import.meta.url))).json();
  } catch {
    return {};
  }
}

const filled = (text, values) => text.replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);

/** A text. */
export const t = (text, values = {}) => filled(catalogue[text] ?? text, values);

/** The form of a text for the count `n`, which is its placeholder {n}. */
export function nt(one, many, n, values = {}) {
  const forms = catalogue[one] ?? [one, many];
  return filled(forms[new Intl.PluralRules(language).select(n) === "one" ? 0 : 1], { n, ...values });
}

/** Words that follow others: nouns have no capital in English. */
export const within = (words) => (language === "en" ? words.toLowerCase() : words);
