/**
 * One websocket for all that the page watches. A topic begins with its snapshot, `seq` 0; after a gap it is
 * asked for anew, and after the socket's end all of them are. Knows no clock and no socket but those it is given.
 */

import { localise } from '../local.ts';
import type { Problem } from '../types.ts';
import { BadFrame, parseFrame, type TreeFrame } from './frame.ts';

/** What is used of a WebSocket. */
export interface Socket {
  binaryType: BinaryType;
  send(text: string): void;
  close(): void;
  onopen: ((event: Event) => void) | null;
  onmessage: ((event: MessageEvent) => void) | null;
  onclose: ((event: CloseEvent) => void) | null;
}

export interface World {
  open(): Socket;
  now(): number;
  after(ms: number, what: () => void): void;
}

export type Connection = 'connecting' | 'open' | 'lost';

export interface Listener {
  /** A JSON value of the topic: the whole of it, or what has changed. */
  value?(value: unknown, whole: boolean): void;
  /** A frame of a tree. The first one after a `seq` of 0 begins a new tree. */
  frame?(frame: TreeFrame): void;
  /** There is no such thing. */
  gone?(problem: Problem): void;
}

interface Topic {
  listener: Listener;
  /** Of the last message; -1 while a snapshot is awaited. */
  seq: number;
}

/** As many as the coordinator allows. */
const TOPICS_MAX = 8;
const RETRY_MS_MIN = 250;
const RETRY_MS_MAX = 5000;
const GAPS_IN_A_ROW_MAX = 5;
/** The coordinator says that it is alive more often; a socket that is silent for this long is dead. */
const SILENCE_MS_MAX = 30_000;

export class Feed {
  /** Called when the connection changes. */
  onconnection: (connection: Connection) => void = () => {};
  /** Called when something has come. */
  ondata: (at: number) => void = () => {};
  /** Called with what is wrong with what came, in a sentence. */
  ontrouble: (text: string) => void = () => {};

  #world: World;
  #topics = new Map<string, Topic>();
  #socket: Socket | null = null;
  #isOpen = false;
  #retryMs = RETRY_MS_MIN;
  #isAsking = false;
  #again = new Set<string>();
  #gaps = 0;
  #isStopped = false;
  #heardAt = 0;
  #isWatched = false;

  constructor(world: World) {
    this.#world = world;
  }

  start(): void {
    this.#connect();
  }

  stop(): void {
    this.#isStopped = true;
    this.#socket?.close();
  }

  /** Tries at once rather than after the back-off. */
  retryNow(): void {
    if (!this.#socket && !this.#isStopped) this.#connect();
  }

  /** Watches `topic` until the function that is returned is called. One listener a topic. */
  watch(topic: string, listener: Listener): () => void {
    const watched: Topic = { listener, seq: -1 };
    if (this.#topics.has(topic)) this.#again.add(topic);
    this.#topics.set(topic, watched);
    this.#ask();
    return () => {
      if (this.#topics.get(topic) === watched) {
        this.#topics.delete(topic);
        this.#ask();
      }
    };
  }

  #connect(): void {
    const socket = this.#world.open();
    this.#socket = socket;
    socket.binaryType = 'arraybuffer';
    socket.onopen = () => {
      this.#isOpen = true;
      for (const topic of this.#topics.values()) topic.seq = -1;
      this.#again.clear();
      this.#send();
      this.onconnection('open');
    };
    socket.onmessage = (event) => {
      if (this.#socket !== socket) return;
      this.#heardAt = this.#world.now();
      this.ondata(this.#heardAt);
      this.#retryMs = RETRY_MS_MIN;
      if (typeof event.data === 'string') this.#text(event.data);
      else this.#binary(event.data as ArrayBuffer);
    };
    socket.onclose = () => {
      if (this.#socket !== socket) return;
      this.#socket = null;
      this.#isOpen = false;
      if (this.#isStopped) return;
      this.onconnection('lost');
      const wait = this.#retryMs;
      this.#retryMs = Math.min(2 * wait, RETRY_MS_MAX);
      this.#world.after(wait, () => this.retryNow());
    };
  }

  /** Soon, once for all that is changed in this turn. */
  #ask(): void {
    if (this.#isAsking) return;
    this.#isAsking = true;
    queueMicrotask(() => {
      this.#isAsking = false;
      if (this.#isOpen) this.#send();
    });
  }

  #send(): void {
    const watch = [...this.#topics.keys()].slice(-TOPICS_MAX);
    const again = watch.filter((topic) => this.#again.has(topic));
    this.#again.clear();
    this.#socket?.send(JSON.stringify(again.length > 0 ? { watch, again } : { watch }));
  }

  #text(text: string): void {
    let message: { topic?: unknown; seq?: unknown; kind?: unknown; value?: unknown; problem?: Problem };
    try {
      message = JSON.parse(text) as typeof message;
    } catch {
      this.ontrouble('The coordinator sent something other than JSON.');
      return;
    }
    if (message?.kind === 'alive') this.#watchSilence();
    if (typeof message?.topic !== 'string') {
      if (message?.problem) this.ontrouble(String(message.problem.detail ?? message.problem.title));
      return;
    }
    const topic = this.#topics.get(message.topic);
    if (!topic) return;
    if (message.kind === 'gone') {
      topic.seq = -1;
      topic.listener.gone?.(problemOf(message.problem));
      return;
    }
    const whole = message.kind === 'snapshot';
    if (!this.#isNext(message.topic, topic, Number(message.seq), whole)) return;
    topic.listener.value?.(localise(message.value), whole);
  }

  /** From the first sign of life on, silence is an end. */
  #watchSilence(): void {
    const socket = this.#socket;
    if (this.#isWatched || !socket) return;
    this.#isWatched = true;
    const look = () => {
      if (this.#socket !== socket) {
        this.#isWatched = false;
      } else if (this.#world.now() - this.#heardAt > SILENCE_MS_MAX) {
        this.#isWatched = false;
        // The end of a dead socket may be reported late: it is an end now.
        socket.onclose?.({} as CloseEvent);
        socket.close();
      } else {
        this.#world.after(SILENCE_MS_MAX / 3, look);
      }
    };
    this.#world.after(SILENCE_MS_MAX / 3, look);
  }

  #binary(bytes: ArrayBuffer): void {
    let frame: TreeFrame;
    try {
      frame = parseFrame(bytes);
    } catch (error) {
      if (!(error instanceof BadFrame)) throw error;
      this.ontrouble(`The coordinator sent a tree that cannot be read: ${error.message}.`);
      return;
    }
    const name = `tree/${frame.run}`;
    const topic = this.#topics.get(name);
    if (topic && this.#isNext(name, topic, frame.seq, frame.kind !== 'delta' && frame.seq === 0)) {
      topic.listener.frame?.(frame);
    }
  }

  /** Whether this message follows the last. If there is a gap, a snapshot is asked for. */
  #isNext(name: string, topic: Topic, seq: number, begins: boolean): boolean {
    if (begins) {
      topic.seq = seq;
      return true;
    }
    if (topic.seq < 0) return false;
    if (seq === topic.seq + 1) {
      topic.seq = seq;
      this.#gaps = 0;
      return true;
    }
    topic.seq = -1;
    this.#gaps += 1;
    if (this.#gaps > GAPS_IN_A_ROW_MAX) {
      // Whatever is wrong, another socket asks more slowly.
      this.#gaps = 0;
      this.#socket?.close();
      return false;
    }
    this.#again.add(name);
    this.#ask();
    return false;
  }
}

function problemOf(problem: Problem | undefined): Problem {
  return {
    title: String(problem?.title ?? 'Not found'),
    detail: String(problem?.detail ?? 'Not found.'),
    status: Number(problem?.status ?? 404),
  };
}
