export { atOnce, createTurns, inSlices, isSliceOver } from '../../src/slices.ts';
