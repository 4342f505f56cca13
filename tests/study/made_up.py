"""Which caption is made up? Who can tell without the picture can guess the item."""

from dataclasses import replace

from tellapart.study.questions import question as q


class MadeUp(q.QuestionType):
    name = "made-up"
    about = "which caption is made up, read without the picture"
    needs = "items with two captions or more"
    instructions = "You read captions of a picture that you **do not see**. Some are made up."
    script = """
import { taskForm as plain } from "/static/task.js";
export function taskForm(task, options) {
  const drawn = plain(task, options);
  drawn.form.querySelector("h1").after("You do not see the picture.");
  return drawn;
}"""

    def matters(self, item):
        if len(item.captions) > 1:
            yield q.Matter(item.id, "made-up", (), item.captions, q.Truth(frozenset({"unsure"})))

    def form(self, matter):
        captions, unsure = q.numbered(captions=matter.captions), q.Option("unsure", "I cannot tell")
        return q.TaskForm("Which caption is made up?", options=captions, fixed=(unsure,))

    def figures(self, tasks):
        answers = ((task, one.choice != "unsure") for task in tasks for one in task.judgements)
        yield q.Share("captions", "guessed", tuple(answers))

    def make_item(self, kept):
        return replace(kept.source, kind="not guessable")


QUESTION = MadeUp()
