"""Definitions in source code are found by the words, brackets and indentation of the common languages."""

import pytest

from app.text import chunking
from app.text.structure import code

PYTHON = '''"""A module of shelves.

class of things that are not defined here
"""

import re

MOST = 5


@dataclass(
    frozen=True,
)
# A shelf.
class Shelf:
    """What holds books."""

    books: list[str]

    def first(self) -> str:
        """The first book."""

        def inner() -> str:
            return self.books[0]

        return inner()


async def read(
    shelf: Shelf,
) -> None:
    pass


READ = read
'''
C = """#include <stdio.h>

/* Adds two numbers. */
int
add(int a, int b)
{
  if (a > b) {
    return a;
  }
  return a + b;
}

int main(int argc, char **argv) {
  for (int i = 0; i < argc; i++) {
    puts(argv[i]);
  }
}

struct point {
  int x;
};
"""
JAVA = """package notes;

/** A shelf. */
@Entity(name = "shelf")
public class Shelf<T> extends Base {
  private int most = 3;

  @Override
  public List<T> find(String name, int most) throws IOException {
    return search(name);
  }

  Shelf(int most) {
    this.most = most;
  }
}
"""
SCRIPT = """export const search = async (query) => {
  return post(query);
};

class Page extends Element {
  constructor(name) {
    super(name);
  }

  async show(answer) {
    if (answer) {
      draw(answer);
    }
  }
}

export default function start(page) {
  page.show();
}

start(new Page());
"""
SQL = """-- Finds the best rows.
WITH best AS MATERIALIZED (
    SELECT f.id FROM fused AS f
),
worst AS (
    SELECT f.id FROM fused AS f
)
SELECT * FROM best;

CREATE OR REPLACE FUNCTION shop.total(a int)
 RETURNS int
 RETURN a;
"""
GO = """package main

// Area computes it.
func (s *Square) Area() float64 {
\treturn s.side
}

type Shape interface {
\tArea() float64
}
"""
RUST = """impl<T> Shelf<T> for Wall {
    pub(crate) fn new(books: i32) -> Self {
        match books { _ => panic!() }
    }
}
"""
RUBY = """module Notes
  class Shelf < Base
    def empty?
      true
    end
  end
end
"""
CPP = """namespace std API_VISIBLE(default)
{
  template<typename T>
    class API_EXPORT vector : base<T>
    {
    public:
      void
      grow(int n)
      {
\tstep(n);
      }

      int size() const { return 1; }
      int most;
    };
}
"""
STANDARD = """class Store {
  async #open (name) {
    outer: for (const one of name) {
      read (one)
    }
  }
}

static int
close_all (int most)
{
}
"""
PERL = """sub find {
    unless ($most) {
        return;
    }
}
"""
CYTHON = """cdef class Shelf(Base):
    def first(self):
        pass
"""


def paths(text: str) -> list[str]:
    """The definitions, each after those around it."""
    found: list[str] = []
    above: list[str] = []
    for block in code.blocks(text):
        if block.kind == "heading":
            above = [*above[: block.level - 1], block.title]
            found += [".".join(above)] if block.title else []
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (PYTHON, ["Shelf", "Shelf.first", "Shelf.first.inner", "read"]),
        (C, ["add", "main", "point"]),
        (JAVA, ["Shelf", "Shelf.find", "Shelf.Shelf"]),
        (SCRIPT, ["search", "Page", "Page.constructor", "Page.show", "start"]),
        (SQL, ["best", "worst", "shop.total"]),
        (GO, ["Area", "Shape"]),
        (RUST, ["Shelf", "Shelf.new"]),
        (RUBY, ["Notes", "Notes.Shelf", "Notes.Shelf.empty?"]),
        (CPP, ["std", "std.vector", "std.vector.grow"]),
        (STANDARD, ["Store", "Store.#open", "close_all"]),
        (PERL, ["find"]),
        (CYTHON, ["Shelf", "Shelf.first"]),
    ],
    ids=["python", "c", "java", "javascript", "sql", "go", "rust", "ruby", "cpp", "spaces", "perl", "cython"],
)
def test_the_definitions_of_common_languages_are_found_with_those_around_them(text: str, expected: list[str]) -> None:
    assert paths(text) == expected
    covered = " ".join(text[block.start : block.end] for block in code.blocks(text))
    assert covered.split() == text.split()


def test_comments_and_decorators_belong_to_the_definition_below_them_and_what_follows_it_does_not() -> None:
    starts = {block.title: block.start for block in code.blocks(PYTHON) if block.title}
    assert PYTHON[starts["Shelf"] :].startswith("@dataclass(\n")
    starts = {block.title: block.start for block in code.blocks(JAVA) if block.title}
    assert JAVA[starts["Shelf"] :].startswith("  Shelf(int")  # the constructor, the last of this name
    assert JAVA[starts["find"] :].startswith("  @Override")
    after = chunking.split(PYTHON, kind="code", target_tokens=20, overlap_tokens=0)
    assert next(one for one in after if "READ = read" in one.content).heading_path == ()
    assert next(one for one in after if "return inner()" in one.content).heading_path == ("Shelf", "first")


def test_the_type_of_a_result_on_a_line_of_its_own_belongs_to_the_definition() -> None:
    text = "int x;\n\n/* Verifies. */\nstatic PyObject *\nverify(int a)\n{\n}\nint\nmain()\n{\n}\n"
    starts = [text[block.start :].partition("\n")[0] for block in code.blocks(text) if block.kind == "fence"]
    assert starts == ["int x;", "/* Verifies. */", "int"]


@pytest.mark.parametrize("line", ["x" * 10_000, "def " * 3_000, "a " * 3_000 + "(", "(" * 4_000 + "{"])
def test_a_line_of_data_defines_nothing(line: str) -> None:
    assert paths(f"{line}\n{line}") == []
