/** A fault by the name of its problem type (docs/calls.md, "Errors"), with what to do about it. */
export class Problem extends Error {
  /**
   * @param {string} type
   * @param {string} detail
   */
  constructor(type, detail) {
    super(detail);
    this.name = "Problem";
    this.type = type;
  }
}
