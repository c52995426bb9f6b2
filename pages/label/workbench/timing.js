// The time a target was on screen with idle time cut.

export const IDLE = 30_000; // milliseconds: a longer pause counts as this

export class Stopwatch {
  constructor(now) {
    this.restart(now);
  }

  restart(now) {
    this.spent = 0;
    this.last = now;
    this.away = false;
  }

  /** The annotator did something: the time since the last sign of activity counts, up to the idle limit. */
  touch(now) {
    if (!this.away) this.spent += Math.min(now - this.last, IDLE);
    this.away = false;
    this.last = now;
  }

  /** The window was hidden: nothing counts until the next touch. */
  hide(now) {
    this.touch(now);
    this.away = true;
  }

  seconds(now) {
    return (this.spent + (this.away ? 0 : Math.min(now - this.last, IDLE))) / 1000;
  }
}
