/** The component with all that it imports as one small file, and the same compressed: `node build.mjs ENTRY TARGET LINE`. */

import { writeFileSync } from "node:fs";
import { brotliCompressSync } from "node:zlib";
import { rolldown } from "rolldown";

const [input, target, firstLine] = process.argv.slice(2);

/** All languages are in the file, so that none waits for another; and rules of style need no line breaks. */
const smaller = {
  name: "smaller",
  transform(code, id) {
    if (id.endsWith("/style.js")) return code.replace(/\n\s*/g, "");
    if (!id.endsWith("/texts.js")) return null;
    const named = [];
    const joined = code.replace(/\(\) => import\(("[^"]*")\)/g, (_, path) => `() => ({ default: text${named.push(path) - 1} })`);
    return named.map((path, i) => `import text${i} from ${path};\n`).join("") + joined;
  },
};

const bundle = await rolldown({ input, plugins: [smaller] });
const { output } = await bundle.generate({ format: "esm", minify: true });
if (output.length !== 1) throw new Error(`There are ${output.length} files.`);
const code = `${firstLine}\n${output[0].code.replaceAll("/* @__PURE__ */ ", "")}`;
writeFileSync(target, code);
writeFileSync(`${target}.br`, brotliCompressSync(code));
