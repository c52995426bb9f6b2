// The answer panel of each kind of task.

import { aiusPanel } from "./aius.js";
import { choicePanel } from "./choice.js";
import { critiquesPanel } from "./critiques.js";
import { scoresPanel } from "./scores.js";
import { weightsPanel } from "./weights.js";

export const PANELS = {
  choice: choicePanel,
  scores: scoresPanel,
  weights: weightsPanel,
  aius: aiusPanel,
  critiques: critiquesPanel,
};
