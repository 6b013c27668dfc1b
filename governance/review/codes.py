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
    "TL510": CodeDoc(
        "policy-test-fails",
        "A case of the policy's own tests does not come out as it says.",
        "The policy asks for something else than those who wrote the case meant.",
        "Mend the policy, or the case if the policy is meant to be so.",
    ),
    "TL511": CodeDoc(
        "policy-test-mistaken",
        "A case of the policy's tests cannot be run: a key is unknown or missing, or a person is not in the "
        "policy.",
        "A case that tests nothing would look like one that passes.",
        "Correct the case.",
    ),
    "TL520": CodeDoc(
        "record-malformed",
        "A record under .tierlock/ is not well-formed: altered, written by hand, or not of its format.",
        "A record that cannot be read proves nothing, and an approval that was altered counts for nobody.",
        "Take it back out and let tierlock write it again: `tierlock review approve`.",
    ),
    "TL521": CodeDoc(
        "record-changed",
        "An approval, a release, a snapshot or a piece of evidence is changed after it was recorded.",
        "What was signed or measured is history; an edited history shows what somebody wishes had been.",
        "Restore the record. What it says is superseded by a new one, or withdrawn.",
    ),
    "TL522": CodeDoc(
        "record-removed",
        "An approval, a release, a snapshot or a piece of evidence is taken away or renamed.",
        "What landed under it would look as if nobody had approved it, or nothing could be restored to it.",
        "Restore the record. An approval is taken back with `tierlock review approve --withdraw`.",
    ),
    "TL523": CodeDoc(
        "record-out-of-place",
        "Something under .tierlock/ is no record, is a link, or lies in the place of another record.",
        "A record is found by its place; one that lies elsewhere is not seen, or is taken for another.",
        "Move it where it belongs, or keep it elsewhere.",
    ),
    "TL524": CodeDoc(
        "withdrawal-unfounded",
        "A withdrawal takes back an approval that is not there.",
        "Whoever withdrew believes that an approval no longer counts, and another one still does.",
        "Withdraw the approval that is meant: `tierlock review approve --withdraw`.",
    ),
    "TL540": CodeDoc(
        "landed-unapproved",
        "A commit of the branch moved a config, a binding or the policy without the approvals that the "
        "policy before it asked for; none lay in its own tree, and none came later.",
        "It has shaped answers since, and nobody but its author has looked at it.",
        "Have a reviewer look at it and run `tierlock review approve CONFIG --commit COMMIT`; it stays "
        "marked as late. Or take the change back, with approval.",
    ),
    "TL541": CodeDoc(
        "approved-late",
        "A commit of the branch moved something before it was approved; the approval came with a later "
        "commit.",
        "Until then it shaped answers unreviewed. That has happened and stays in every audit.",
        "Commit the approval with the change, or merge the branch that has both with `git merge --no-ff`, or "
        "squash it: then change and approval land as one.",
    ),
    "TL542": CodeDoc(
        "follow-up-open",
        "A change landed on an emergency approval, and the regular approvals that it owes have not come.",
        "Breaking the glass is for minutes; what it let through is reviewed afterwards or not at all.",
        "Let a reviewer other than the one who broke the glass run `tierlock review approve --follow-up`.",
    ),
    "TL543": CodeDoc(
        "merge-undoes",
        "A merge keeps an older state of a config although an approved change of it lay on the other side.",
        "The line of the branch shows nothing: the approved change is gone as if it had never been.",
        "Bring the change back, or have it approved that it is gone.",
    ),
    "TL544": CodeDoc(
        "landed-approval-refused",
        "An approval lay there for what landed and does not count; the text says why.",
        "Whoever gave it believes that the change was approved.",
        "Have it given again by someone who may.",
    ),
    "TL545": CodeDoc(
        "landed-broken",
        "A commit landed what no approval can excuse: a link in the place of a config, a file that does not "
        "load. An error while it still stands, a warning once it is mended.",
        "What cannot be read was never reviewed by its meaning.",
        "Mend the file: `tierlock check` has line and fix.",
    ),
    "TL546": CodeDoc(
        "merged-the-wrong-way",
        "A merge on the branch has the branch's own history as its second parent.",
        "Whoever follows first parents sees another branch, and what it lacks looks as if it had never "
        "landed.",
        "Merge into the branch, not the branch into yours: `git pull --rebase` before a push.",
    ),
}
