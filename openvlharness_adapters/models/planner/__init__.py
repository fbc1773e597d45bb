"""The rooms of the embedded planner, in the order in which a request passes through them.

::

    evidence   what the request shows: question, pictures, calls so far, what each of them found
    questions  the closed grammar: every word of the question has a place in it, or the planner says which has not
      places   its part for pictures and regions
    plans      one plan for each kind of question: calls, and the answer that their evidence allows
      fields   rows with a label and a value
      numbers  what counts as a number, also inside generated programs
      objectives  what the coding tool is asked

A plan is a generator: it yields a call, gets what came of it, and returns an answer or raises `Cannot`. Nothing is kept
between requests. At each one the plan starts anew and is fed the results that the conversation holds; the first call
that has no result yet is the next one to make.
"""
