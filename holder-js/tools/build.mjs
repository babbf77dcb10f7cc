/** The component with all that it imports as one small file: `node build.mjs ENTRY TARGET LINE`. */

import { writeFileSync } from "node:fs";
import { rolldown } from "rolldown";

const [input, target, firstLine] = process.argv.slice(2);

/** The names of the texts of each language, in their order. */
const names = new Set();

/**
 * All languages are in the file, so that none waits for another, and only the first one names its texts; and rules of
 * style need no line breaks.
 */
const smaller = {
  name: "smaller",
  transform(code, id) {
    if (id.endsWith("/style.js")) return code.replace(/\n\s*/g, "");
    if (/\/text-\w+\.js$/.test(id)) {
      if (names.add(code.match(/^  \w+: /gm).join()).size > 1) throw new Error(`${id} has other texts, or in another order.`);
      return id.endsWith("-en.js") ? null : code.replace(/^  \w+: /gm, "").replace("default {", "default [").replace(/\};\s*$/, "];");
    }
    if (!id.endsWith("/texts.js")) return null;
    const named = [];
    const joined = code.replace(/\(\) => import\(("[^"]*")\)/g, (_, path) => `() => ({ default: withNames(text${named.push(path) - 1}) })`);
    const withNames = "const withNames = (texts) => Object.fromEntries(Object.keys(text0).map((name, i) => [name, texts[i] ?? texts[name]]));\n";
    return named.map((path, i) => `import text${i} from ${path};\n`).join("") + withNames + joined;
  },
};

const bundle = await rolldown({ input, plugins: [smaller] });
const { output } = await bundle.generate({ format: "esm", minify: true });
if (output.length !== 1) throw new Error(`There are ${output.length} files.`);
const code = `${firstLine}\n${output[0].code.replaceAll("/* @__PURE__ */ ", "")}`;
writeFileSync(target, code);
