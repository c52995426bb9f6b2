// A link to a page that is opened in another tab, or copied, names the study of the address. Streamlit's own links in
// the sidebar have no parameters. A link is completed when it is pointed at or focused, because Streamlit draws it again.
const LINKS = '[data-testid="stSidebarNavLink"], [data-testid="stPageLink-NavLink"]';
const EVENTS = ["pointerover", "pointerdown", "focusin"];

function nameStudy(event) {
  const link = event.target.closest?.(LINKS);
  const study = new URLSearchParams(location.search).get("study");
  if (!link || !study || link.origin !== location.origin) return;
  const parameters = new URLSearchParams(link.search);
  if (parameters.has("study") && !link.matches('[data-testid="stSidebarNavLink"]')) return;
  parameters.set("study", study);
  link.search = parameters;
}

export default function () {
  EVENTS.forEach((name) => document.addEventListener(name, nameStudy));
  return () => EVENTS.forEach((name) => document.removeEventListener(name, nameStudy));
}
