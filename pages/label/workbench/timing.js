// The time that a target was on the screen, without idle time.

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

  /** Activity of the annotator: the time since the previous activity counts, up to the idle limit. */
  touch(now) {
    if (!this.away) this.spent += Math.min(now - this.last, IDLE);
    this.away = false;
    this.last = now;
  }

  /** The window was hidden: no time counts until the next activity. */
  hide(now) {
    this.touch(now);
    this.away = true;
  }

  seconds(now) {
    return (this.spent + (this.away ? 0 : Math.min(now - this.last, IDLE))) / 1000;
  }
}
