import js from "@eslint/js";
import globals from "globals";

export default [
  js.configs.recommended,
  {
    languageOptions: { ecmaVersion: 2023, sourceType: "module", globals: globals.browser },
    rules: {
      eqeqeq: "error",
      "no-var": "error",
      "prefer-const": "error",
      "no-restricted-properties": [
        "error",
        { property: "innerHTML", message: "Text from models and people is untrusted: use textContent." },
        { property: "outerHTML", message: "Text from models and people is untrusted: use textContent." },
      ],
    },
  },
  {
    // These files are joined into one script per component, so they use and define each other's functions.
    files: ["pages/**/parts/*.js", "pages/parts/*.js"],
    rules: { "no-undef": "off", "no-unused-vars": "off" },
  },
  { files: ["tests/**/*.mjs"], languageOptions: { globals: globals.node } },
];
