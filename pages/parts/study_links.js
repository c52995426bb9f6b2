// A link to a page that is opened in another tab, or copied, names the study of the address, also if the page drew it
// without, and leads to the first page, which Streamlit gives no path. A link is completed when it is pointed at or
// focused, because Streamlit draws it again.
const LINKS = '[data-testid="stPageLink-NavLink"]';
const EVENTS = ["pointerover", "pointerdown", "focusin"];

function nameStudy(event) {
  const link = event.target.closest?.(LINKS);
  if (!link || link.origin !== location.origin) return;
  const written = link.getAttribute("href");
  if (!written || written.startsWith("?")) link.href = `./${written}`; // otherwise it is the present page
  const study = new URLSearchParams(location.search).get("study");
  const parameters = new URLSearchParams(link.search);
  if (!study || parameters.has("study")) return;
  parameters.set("study", study);
  link.search = parameters;
}

// Streamlit opens a link in this tab whichever key is held: it does not get the click that opens another one.
function leaveToBrowser(event) {
  if ((event.ctrlKey || event.metaKey || event.shiftKey) && event.target.closest?.(LINKS)) event.stopPropagation();
}

// On a phone the sidebar covers the page, and Streamlit closes it only for links that it draws itself.
const PHONE = window.matchMedia("(max-width: 768px)");

function closeSidebar(event) {
  const link = event.target.closest?.(`[data-testid="stSidebar"] ${LINKS}`);
  if (link && PHONE.matches) document.querySelector('[data-testid="stSidebarCollapseButton"] button')?.click();
}

// When Streamlit opens another page, it first gives this page's address the parameters of the other one, as a step of the
// history: Back would show this page without its own. The other page takes the place of that step.
const SOON = 1000; // milliseconds

function withoutExtraStep(push) {
  let stepped = -SOON;
  return function (state, title, address) {
    const { pathname, search } = new URL(address, location.href);
    const isOtherPage = pathname !== location.pathname;
    const isExtra = isOtherPage && search === location.search && performance.now() - stepped < SOON;
    stepped = isOtherPage ? -SOON : performance.now();
    (isExtra ? history.replaceState : push).call(history, state, title, address);
  };
}

export default function () {
  EVENTS.forEach((name) => document.addEventListener(name, nameStudy));
  document.addEventListener("click", closeSidebar);
  document.addEventListener("click", leaveToBrowser, true);
  const { pushState } = history;
  history.pushState = withoutExtraStep(pushState);
  return () => {
    history.pushState = pushState;
    EVENTS.forEach((name) => document.removeEventListener(name, nameStudy));
    document.removeEventListener("click", closeSidebar);
    document.removeEventListener("click", leaveToBrowser, true);
  };
}
