// logic.ts - what of the page can be tested without a browser, in one module for node's test runner.
export * from '../../src/geometry';
export * from '../../src/sse';
export * from '../../src/read';
export { linkOf, readLink, svgOf, captionOf } from '../../src/figure';
export { ticks } from '../../src/chart';
export { frequency, linesOf, medals, passes, readRun } from '../../src/results';
export { matches, ordered } from '../../src/compare';
export { budgetAt, positionOf, STEPS } from '../../src/input';
export { heatColor, spread } from '../../src/overlay';
export { sniff } from '../../src/picture';
export { chatBody, pruneObject } from '../../src/requests';
export { state } from '../../src/state';
export { setLanguage, t, tables } from '../../src/strings';
