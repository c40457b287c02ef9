"""Hypothesis strategies that the tests share; a new kind of value joins here."""

from dataclasses import dataclass

from hypothesis import strategies as st

from autotune_lab import Problem, Space

NAMES = ("A", "B", "C", "D")
DTYPES = ("float16", "bfloat16", "float32")


@dataclass(frozen=True)
class DeclaredSpace:
    """A space as it would be written, so that a test can work out its configs by other means."""

    values: dict[str, list]
    rules: tuple[str, ...]
    space: Space


def value_lists() -> st.SearchStrategy[list]:
    """Return lists of distinct values of one parameter: numbers, words or switches."""
    return st.one_of(
        st.lists(st.integers(-9, 99), min_size=1, max_size=5, unique=True),
        st.lists(st.sampled_from(["row", "column", "padded"]), min_size=1, unique=True),
        st.permutations([False, True]),
    )


def terms(names: tuple[str, ...]) -> st.SearchStrategy[str]:
    """Return arithmetic over numeric names that is defined for all of their values."""
    leaves = st.one_of(st.sampled_from(names), st.integers(-9, 9).map(lambda n: f"({n})"))

    def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        pairs = st.tuples(inner, inner)
        return st.one_of(
            st.tuples(inner, st.sampled_from(["+", "-", "*", "&", "|"]), inner).map(
                lambda parts: f"({' '.join(parts)})"
            ),
            pairs.map(lambda p: f"({p[0]} // (abs({p[1]}) + 1))"),
            pairs.map(lambda p: f"({p[0]} % (abs({p[1]}) + 1))"),
            pairs.map(lambda p: f"min({p[0]}, {p[1]})"),
            pairs.map(lambda p: f"max({p[0]}, {p[1]})"),
            st.tuples(inner, inner, inner).map(lambda p: f"({p[0]} if {p[1]} > 0 else {p[2]})"),
        )

    return st.recursive(leaves, grow, max_leaves=5)


def constraint_texts(names: tuple[str, ...]) -> st.SearchStrategy[str]:
    """Return constraints over numeric names; each means the same to Python itself."""
    term = terms(names)
    comparison = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
    simple = st.one_of(
        st.tuples(term, comparison, term).map(" ".join),
        st.tuples(term, comparison, term, comparison, term).map(" ".join),
        st.tuples(term, st.sampled_from(["in", "not in"])).map(
            lambda p: f"{p[0]} {p[1]} (1, 2, 4)"
        ),
    )
    return st.recursive(
        simple,
        lambda inner: st.one_of(
            inner.map(lambda text: f"not ({text})"),
            st.tuples(inner, st.sampled_from([" and ", " or "]), inner).map(
                lambda p: f"({p[0]}){p[1]}({p[2]})"
            ),
        ),
        max_leaves=3,
    )


@st.composite
def declared_spaces(draw: st.DrawFn) -> DeclaredSpace:
    """Return spaces of up to four parameters with up to three constraints; some are empty."""
    names = NAMES[: draw(st.integers(1, len(NAMES)))]
    values = {
        name: draw(st.lists(st.integers(0, 40), min_size=1, max_size=5, unique=True))
        for name in names
    }
    rules = tuple(draw(st.lists(constraint_texts(names), max_size=3, unique=True)))
    space = Space(**values)
    for rule in rules:
        space = space.where(rule)
    return DeclaredSpace(values, rules, space)


def problems() -> st.SearchStrategy[Problem]:
    """Return problems as kernels declare them: sizes, a dtype, sometimes a layout or a flag."""
    sizes = st.dictionaries(st.sampled_from(["M", "N", "K"]), st.integers(1, 8192), min_size=1)
    extras = st.fixed_dictionaries(
        {"dtype": st.sampled_from(DTYPES)},
        optional={"layout": st.sampled_from(["row", "column"]), "causal": st.booleans()},
    )
    return st.builds(lambda a, b: Problem({**a, **b}), sizes, extras)
