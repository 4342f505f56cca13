"""What a new study says to people, in plain words; each owner edits it in the study's file."""

CONSENT = """\
You are invited to take part in a study about pictures and captions. You will see pictures and short
texts and answer questions about them.

- Taking part is voluntary. You can stop at any time, without giving a reason.
- We store your answers, how long each took, and nothing else about you. If you came here from a
  platform, your id there is stored in a form that cannot be traced back to you without our key.
- You can have everything that is stored about you deleted at any time, from the menu of this page.
- The answers, without anything that points to you, may be published for research.
"""

THANKS = """\
Thank you! That was all. You can close this page now.
"""
