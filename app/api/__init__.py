"""THE DOOR: HTTP in, HTTP out, nothing else.

    problems     what does a caller see when something goes wrong?
    faults       which field is wrong, and what should be sent instead?
    bodies       how is a request body read, so that no input can break the service?
    wire         what may a request hold?
    request_ids  how is a request told from others, and where did its time go?
    docs         where can a person try the API?

An application puts them on from the inside out, as the last one added runs first:
`bodies.install`, `problems.install`, `request_ids.install`, then `docs.install`; routers follow.
"""
