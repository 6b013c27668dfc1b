"""What evals can find, by code (TL7xx): TL701-TL719 suites and items, TL720-TL739 runs and comparisons.

- Codes are for ever: a code is never given another meaning, a retired one is never reused.
"""

from __future__ import annotations

from typing import Final

from governance.tiers.reader_codes import CodeDoc

CODES: Final[dict[str, CodeDoc]] = {
    "TL701": CodeDoc(
        "suite-missing",
        "A service names an eval suite that is not there: no `evals/<name>.jsonl`.",
        "The service cannot be released, and a rollback could not be verified, when it is needed most.",
        "Add the file, or correct the name.",
    ),
    "TL702": CodeDoc(
        "suite-empty",
        "The file of a suite has no item.",
        "Nothing would be asked, and nothing asked is no evidence.",
        "Write an item on each line, or delete the file.",
    ),
    "TL703": CodeDoc(
        "item-key-unknown",
        "An item has a key that items do not have.",
        "A misspelt key is passed over by most tools: the item would be asked or judged in another way than "
        "was meant.",
        "Correct the key; the message names the nearest one.",
    ),
    "TL704": CodeDoc(
        "item-incomplete",
        "An item lacks its id, task, scorer or question.",
        "It cannot be asked or judged.",
        "Add what is missing.",
    ),
    "TL705": CodeDoc(
        "item-value",
        "A value of an item is of another kind than its key takes.",
        "It would be read in another way than was meant.",
        "Correct the value; the message says what it must be.",
    ),
    "TL706": CodeDoc(
        "item-id-twice",
        "Two items of one suite have one id.",
        "Runs are compared item by item; one of the two would be compared with the other.",
        "Give each item its own id, and never the id of an item that was removed.",
    ),
    "TL707": CodeDoc(
        "question-asked-twice",
        "Two items of one suite ask the same question and judge it in the same way.",
        "One mistake then counts twice, and intervals are narrower than they should be.",
        "Remove one, or ask the question several times with `repeats`.",
    ),
    "TL708": CodeDoc(
        "scorer-unknown",
        "An item names a scorer that does not exist.",
        "Its answers could not be judged.",
        "Choose one of docs/reference/scorers.md, or write python:module:function.",
    ),
    "TL709": CodeDoc(
        "scorer-argument",
        "An argument or the reference of an item is not what its scorer takes: unknown, missing, of another "
        "kind, or such that no answer could pass.",
        "The item would be judged by another measure than was meant.",
        "Correct it; the arguments of every scorer are in docs/reference/scorers.md.",
    ),
    "TL710": CodeDoc(
        "item-unaskable",
        "The service that names the suite cannot be asked an item: its variables are not those of the "
        "template, or it sets a parameter that the sampling config does not let requests set.",
        "A run would end before its first request.",
        "Give the variables that the prompts config declares, each with a value of its type; add the "
        "parameter to `overridable`, or take it out of the item.",
    ),
    "TL711": CodeDoc(
        "no-contract",
        "An item is judged by the output contract, and the service that asks it has none.",
        "It would never be scored.",
        "Add `output` to the prompts config, or choose another scorer.",
    ),
    "TL712": CodeDoc(
        "secret-in-suite",
        "A suite holds a secret.",
        "It would be sent to the server and kept with every result, for ever.",
        "Take it out, and renew the secret: it is in the history.",
    ),
    "TL713": CodeDoc(
        "entry-point-missing",
        "The module or the function of a `python:` scorer is not in the repository.",
        "Its items would never be scored.",
        "Commit the module, or correct the name.",
    ),
    "TL714": CodeDoc(
        "suite-unreadable",
        "The file of a suite cannot be read: a link, a Git LFS pointer, or larger than a suite may be.",
        "Nothing of it can be judged.",
        "Commit the file itself.",
    ),
    "TL720": CodeDoc(
        "item-fails",
        "The answer of the service to an item is not what its scorer asks for. In a smoke suite it blocks.",
        "A smoke suite holds what every answer of the service must keep: one failing item is a service that "
        "does not do what it is there for.",
        "Look at the answer with `tierlock eval run SERVICE --show-content`, or in the results file; then at "
        "what moved with `tierlock diff`.",
    ),
    "TL730": CodeDoc(
        "items-lost",
        "Items of a suite were right in the earlier run and are wrong in the later one.",
        "Each is a question that users could ask before and cannot now. Whether so many can be chance is "
        "what the check `loss` says.",
        "Look at the answers with `tierlock eval compare A B --show-content`, and at what moved between the "
        "two with `tierlock diff`.",
    ),
    "TL731": CodeDoc(
        "task-fell",
        "The items of one task were lost beyond chance, although the suite as a whole may not have fallen.",
        "Gains elsewhere hide the loss in the mean; those who use the service for this task see only theirs.",
        "Look at the lost items of the task; a prompt, a stop string or a limit of tokens often hits one "
        "task alone.",
    ),
}
