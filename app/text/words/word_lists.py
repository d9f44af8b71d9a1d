"""Defines the word lists for parsing queries and recognising names.

They have function words, question words, particles, determiners, prepositions, contractions, and words of headings and
of the calendar. All words are lower-case, and most lists mix several languages. Queries and documents have separate
lists of function words and of particles, each with a common part. Joining them would change results.
"""

from __future__ import annotations


def _words(line: str) -> frozenset[str]:
    return frozenset(line.split())


_COMMON_FUNCTION_WORDS = _words(
    "the a an of to in on at by for with from and or is are was were be been it its that this as i you my your "
    "der die das den dem des ein eine einer und oder ist sind war im von mit für auf zu "
    "le la les du un une et est sont dans pour avec sur au aux "
    "el los las una y es son en con por para del al "
    "o os um uma e do em na no com il lo gli di che nel della"
)

SENTENCE_WORDS = _COMMON_FUNCTION_WORDS | {"da", "dos", "nicht"}
"""A query of several words is a sentence if it contains one of these words.

Separate from FUNCTION_WORDS: with that list, 1 of 1,460 development queries is parsed differently.
"""

FUNCTION_WORDS = _COMMON_FUNCTION_WORDS | _words(
    "these those he she they we his her their our him them us me who whom whose what when where why which how but nor "
    "so yet if into off onto out over up without after before during until since while because although though however "
    "therefore thus then than there here being am does did done has have had can could will would shall should may "
    "might must not yes all any some many much more most other another each every both few several such only own same "
    "too very also just about above again against between through under below near "
    "eines aber bei nach l d ou ce cette elle ils elles nous vous unos su sus se"
)
"""Words that are not a name by themselves and do not make a longer phrase distinctive.

Separate from SENTENCE_WORDS, because a change here changes which names are found in stored documents.
"""

_COMMON_PARTICLES = _words("of de da do del della der den di du la le van von al el bin ibn y the")

NAME_PARTICLES = _COMMON_PARTICLES | _words("des las los zu e et und for")
"""Words between the capitalised words of one name in a document."""

QUERY_PARTICLES = _COMMON_PARTICLES | {"and"}
"""Words between the capitalised words of one name in a query.

It includes "and". In a document that would join two names ("Mara Veit and Cliff Clarke") into one.
"""

HEADING_WORDS = _words(
    "about acknowledgements acknowledgments anhang annexe api apis appendices appendix apéndice authors background "
    "bibliography change changelog changes chapter conclusion conclusions configuration contents contributing "
    "contributors copying copyright credits description details development discussion documentation download "
    "downloads einführung einleitung example examples faq features getting glossary guide help home howto index "
    "indice info inhalt installation installing introduccion introducción introduction issues key licence license "
    "links log misc name news note notes options overview part performance preface prerequisites quick quickstart "
    "readme reference references release requirements resources results roadmap section security setup sommaire "
    "start started status summary support synopsis table test testing tests thanks todo troubleshooting tutorial "
    "tutorials untitled upgrading usage version versions índice"
)
"""Words of the titles and headings of many documents. They do not name the subject of a document."""

CONTRACTIONS = _words(
    "arent cant couldnt didnt doesnt dont hadnt hasnt havent isnt ive shouldnt thats theyre theyve wasnt werent whats "
    "wheres whos wont wouldnt youre youve"
)
"""English contractions as people write them without the apostrophe."""

PERSON_QUESTION_WORDS = _words("who whom whose wer wen wem wessen qui quien quienes quem chi")
"""Question words that ask for a person, in the form of `names.words`, without accents."""

PLACE_PREPOSITIONS = _words("in at near from around outside inside nach aus bei en dans desde em")
"""Words before the name of a place, without accents."""

GERMAN_DETERMINERS = _words("der die das den dem unser unsere unseren unserem")
DETERMINERS = GERMAN_DETERMINERS | _words(
    "the our le la les notre nos el los las nuestro nuestra il lo gli nostro nostra o os as nosso nossa"
)
"""Words before a role in the user's organisation. "my" is not one: "my manager" depends on the speaker."""

QUESTION_WORDS = _words(
    "what who whom whose when where which why how "  # English
    "is are was were do does did can could should would will has have had "
    "was wer wem wen wessen wann wo wohin woher warum wieso weshalb wie welche welcher welches "  # German
    "que quoi qui quel quelle quels quelles quand où comment pourquoi combien est-ce "  # French
    "qué quién quiénes cuál cuáles cuándo dónde cómo cuánto cuántos "  # Spanish
    "quem qual quais quando onde quanto quantos "  # Portuguese
    "che cosa chi quale quali dove perché quanti"  # Italian
)
"""First words of a question, with accents, as users write them."""

CALENDAR_WORDS = _words(
    "january february march april may june july august september october november december "
    "monday tuesday wednesday thursday friday saturday sunday "
    "jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun"
)
"""Names of months and weekdays. They are parts of dates, not of names."""
