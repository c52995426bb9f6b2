// Functions that build elements. Text from the server is inserted only as text nodes.

/** An element with properties and children; `data` and `aria` are set as attributes, and `on…` as listeners. */
export function h(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) set(node, name, value);
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

function set(node, name, value) {
  if (value === null || value === undefined || (value === false && !name.startsWith("aria-"))) return;
  if (name === "class") node.className = value;
  else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
  else if (name.startsWith("aria-")) node.setAttribute(name, String(value));
  else if (name in node && typeof value !== "string") node[name] = value;
  else node.setAttribute(name, value === true ? "" : String(value));
}

/** Set an attribute, or remove it if the value is null or false; of ARIA, false is a value. */
export function attribute(node, name, value) {
  if (value === null || value === undefined || (value === false && !name.startsWith("aria-")))
    node.removeAttribute(name);
  else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, String(value));
}

/** Change a text only if it differs, so screen readers and selections are not disturbed. */
export function text(node, value) {
  if (node.textContent !== value) node.textContent = value;
}

/** A button that a mouse click does not focus: so Space and Enter remain shortcuts of the workbench. */
export function button(properties, ...children) {
  return h("button", { type: "button", onmousedown: (event) => event.preventDefault(), ...properties }, ...children);
}

export const kbd = (key) => h("kbd", { "aria-hidden": "true" }, key);
