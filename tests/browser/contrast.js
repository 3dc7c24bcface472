// The texts of a page whose contrast is below 4.5 : 1: their colour over all that lies behind them,
// blended, by the formula of WCAG 2.2. The body of a function.
const parse = (color) => { const n = color.match(/[\d.]+/g).map(Number); return n.length < 4 ? [...n, 1] : n; };
const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
const light = (c) => c.slice(0, 3).map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
  .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const poor = [];
for (const element of document.querySelectorAll("body *")) {
  if (![...element.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || !element.getClientRects().length) continue;
  if (element.closest("script, style, noscript, title, option")) continue;
  const chain = []; for (let e = element; e; e = e.parentElement) chain.unshift(e);
  let ground = [255, 255, 255, 1], opacity = 1;
  for (const e of chain) { const s = getComputedStyle(e); ground = over(parse(s.backgroundColor), ground); opacity *= +s.opacity; }
  const style = getComputedStyle(element), ink = parse(element.closest("svg") ? style.fill : style.color);
  ink[3] *= opacity;
  const [a, b] = [light(over(ink, ground)), light(ground)].sort((x, y) => y - x);
  const ratio = (a + 0.05) / (b + 0.05);
  if (ratio < 4.5) poor.push([element.tagName, element.className.toString(), element.textContent.slice(0, 30), ratio.toFixed(2)]);
}
return poor;
