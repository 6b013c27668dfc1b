"""What review can find, by code (TL5xx): what was seen, why it matters, how to mend it.

- TL501–TL519 the gate, TL520–TL539 approvals and records, TL540–TL559 the audit, TL560–TL569 CI.
- Codes are for ever: a code is never given another meaning, a retired one is never reused.
"""

from __future__ import annotations

from typing import Final

from governance.tiers.reader_codes import CodeDoc

CODES: Final[dict[str, CodeDoc]] = {
    "TL501": CodeDoc(
        "approval-missing",
        "A config, a binding or the policy changes without the approvals that the policy at the base "
        "revision asks for.",
        "It shapes every answer from the moment it lands, and nobody but its author has looked at it.",
        "Ask one of the people named for `tierlock review approve`, and commit what it writes.",
    ),
    "TL502": CodeDoc(
        "approval-refused",
        "An approval lies there for this change and does not count; the text says why.",
        "Whoever gave it believes that the change is approved.",
        "Have it given again for what the change is now, by someone who may.",
    ),
    "TL503": CodeDoc(
        "policy-missing",
        "There is no review policy at the base revision, nor in the change.",
        "Nothing says who has to approve what, so nothing can be judged.",
        "Add a `review` section to tierlock.yaml; `tierlock review simulate` shows what it would ask for.",
    ),
    "TL504": CodeDoc(
        "policy-refused",
        "The review policy at the base revision cannot be read.",
        "What cannot be read cannot be enforced, and a guess would open the gate.",
        "Mend tierlock.yaml on the base branch; the finding beside this one has the line.",
    ),
    "TL505": CodeDoc(
        "protected-ref-deleted",
        "A push deletes a protected branch.",
        "Its history and its approvals would be gone, and the next push could be compared with nothing.",
        "Keep the branch, or take it out of `review.protected` first.",
    ),
    "TL506": CodeDoc(
        "policy-unsatisfiable",
        "The policy asks for more people than can approve this change: its roles are too small once the "
        "authors are left out.",
        "No number of approvals would let the change pass.",
        "Add people to the role, or have the change made by somebody who is not in it.",
    ),
    "TL507": CodeDoc(
        "author-unknown",
        "The change has an author whose address belongs to nobody in the policy.",
        "If that is one of the people who approve, under another address, the rule that nobody approves "
        "their own change cannot see it.",
        "Add the address to `emails` of the person; for a stranger nothing is to be done.",
    ),
    "TL508": CodeDoc(
        "bootstrap",
        "The change brings the first review policy: nobody could approve it under a policy before it.",
        "From here on every change is judged; this one is not.",
        "Look at the policy once more: who is in it can change everything.",
    ),
    "TL509": CodeDoc(
        "protected-history-replaced",
        "A push replaces the history of a protected branch: what it had is not part of what it gets.",
        "Commits that were reviewed, and their approvals, would be dropped.",
        "Bring the change on top of the branch as it is: `git pull --rebase`, or a revert.",
    ),
}
