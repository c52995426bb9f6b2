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
  {
    // Texts of the workbench are in the catalogue: t("Text") or nt("one", "many", n).
    files: ["pages/label/workbench/**/*.js"],
    rules: {
      "no-restricted-syntax": [
        "error",
        ...[
          ":not(CallExpression[callee.name=/^n?t$/]) > Literal[value=/^[A-Z][a-z]+[ .…?!:]/]",
          "Property[key.value=/^aria-(label|valuetext)$/] > Literal.value",
          "Property[key.name=/^(title|placeholder|alt|text)$/] > Literal.value[value=/[a-z]{2}/]",
          "CallExpression[callee.property.name='say'] > Literal",
          "CallExpression[callee.name='text'] > Literal[value=/[a-z]{2}/]",
          "CallExpression[callee.name=/^(h|button)$/] > ObjectExpression ~ Literal[value=/[A-Za-z]{2}/]",
          ":not(NewExpression):not(Property[key.name='class']) > TemplateLiteral > TemplateElement[value.raw=/(^|[ ,.])[A-Za-z]?[a-z]+ [a-z]+( |$)/]",
        ].map((selector) => ({ selector, message: "Annotators read this: t(…) of texts.js translates it." })),
      ],
    },
  },
  { files: ["tests/**/*.mjs"], languageOptions: { globals: globals.node } },
];
