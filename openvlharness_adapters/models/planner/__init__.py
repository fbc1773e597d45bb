"""The rooms of the embedded planner, in the order in which a request passes through them.

::

    evidence   what the request shows: question, pictures, calls so far, what each of them found
    questions  the closed grammar: every word of the question has a place in it, or the planner says which has not
      places        its part for pictures and regions
      shapes_asked  its part for coloured shapes; locating_asked for where they are
    plans      one plan for each kind of question: calls, and the answer that their evidence allows
      reading, values, sums       text: all of it, the value with a label, arithmetic over numbers
      counting, locating, comparing   shapes: how many, where, how large and how near; grammar and plan in one room
      camera_motion, looking_up   two pictures of one scene; documents
    looks      single calls; shapes_seen those that look for shapes, naming those that tell one's colour or kind
    fields     rows with a label and a value; parts whether a box lies in a region
    numbers    what counts as a number, also inside generated programs
    objectives, measures  what the coding tool is asked; computing asks it

A plan is a generator: it yields a call, gets what came of it, and returns an answer or raises `Cannot`. Nothing is kept
between requests. At each one the plan starts anew and is fed the results that the conversation holds; the first call
that has no result yet is the next one to make.
"""
