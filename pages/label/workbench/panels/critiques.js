// Which critique is better: a choice between two texts that are critiques, not responses.

export { choicePanel as critiquesPanel } from "./choice.js";
