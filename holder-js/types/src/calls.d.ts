/** A holder's calls, by `python -m scripts.write_calls` from protocol/calls.py. */
export declare const VERSION = 3;
export declare const TASKS = "/v1/tasks";
export declare const TASK_ID = "[0-9a-f]{64}";
export declare const TASK_TYPE = "application/vnd.privet.task+msgpack";
export declare const JSON_TYPE = "application/json";
export declare const PROBLEM_TYPE = "application/problem+json";
export declare const PROBLEM_BASE = "urn:privet:problem:";
export declare const INVITATION_HEADER = "Privet-Invitation";
export declare const SIGNATURE_HEADER = "Privet-Signature";
/** HTTP statuses after which the same bytes are sent again. */
export declare const RETRIED: Set<number>;
/** Problems after which the same bytes would be refused again. */
export declare const FINAL: Set<string>;
/** What may become of a report, as pairs of states; other news changes nothing. */
export declare const REPORT_MOVES: Set<string>;
export declare const CALLS: {
    readTask: {
        method: string;
        below: string;
        accept: string;
        good: number[];
        limit: number;
    };
    readStatus: {
        method: string;
        below: string;
        accept: string;
        good: number[];
        limit: number;
    };
    sendReport: {
        method: string;
        below: string;
        accept: string;
        good: number[];
        limit: number;
    };
    readReport: {
        method: string;
        below: string;
        accept: string;
        good: number[];
        limit: number;
    };
};
