/** Pages, and the chart, that are loaded when the first of them is wanted. */

export { default as Apps } from './Apps.svelte';
export { default as Chart } from '../components/Chart.svelte';
export { default as Hosts } from './Hosts.svelte';
export { default as RunTimeline } from './RunTimeline.svelte';
export { default as RunTree } from './RunTree.svelte';
