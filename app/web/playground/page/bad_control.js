// A control whose value cannot be sent.

export class BadControl extends Error {
  constructor(name, message) {
    super(message);
    this.field = name;
  }
}
