/** Signs of what happens to a run, in lists and on axes of time. */

const SIGNS: { [kind: string]: string } = {
  submitted: '○',
  started: '▶',
  host_joined: '+',
  host_left: '−',
  host_paused: '‖',
  host_returned: '↩',
  host_resumed: '▶',
  host_lost: '✕',
  jobs_interrupted: '✕',
  adopted: '⤺',
  reused: '↻',
  root_lost: '✕',
  unable: '!',
  suspended: '❚',
  resumed: '▶',
  coordinator_restarted: '↺',
  ended: '■',
};

export const signOf = (kind: string): string => SIGNS[kind] ?? '·';

/** Whether something was lost. */
export const isBad = (kind: string): boolean => kind.endsWith('_lost') || kind === 'jobs_interrupted';
