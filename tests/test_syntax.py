"""Functions are found in their files, and trees are described without what does not matter."""

import ast

import pytest

from autotune_lab import DefinitionError, syntax


def decorated(function):
    return function


@decorated
@decorated
def with_decorators(a, b=1):
    """Docstring."""
    return a + b


def outer():
    def inner():
        return 1

    return inner


PAIR = (lambda x: x + 1, lambda x: x + 2)
NESTED = lambda x: (lambda y: y + 1)(x)  # noqa: E731
SPREAD = [
    lambda x: (
        x
        + 10
    ),
    lambda x: x + 20,
]  # fmt: skip


class Holder:
    class Inner:
        value = 1

    def method(self):
        return 2


def source(node):
    return ast.unparse(node)


def shape(text):
    return syntax.shape(ast.parse(text))


def test_a_decorated_function_is_found_with_its_decorators():
    node = syntax.function_node(with_decorators)
    assert node.name == "with_decorators"
    assert len(node.decorator_list) == 2


def test_inner_functions_and_methods_are_found():
    assert source(syntax.function_node(outer())) == "def inner():\n    return 1"
    assert syntax.function_node(Holder.method).name == "method"


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (PAIR[0], "lambda x: x + 1"),
        (PAIR[1], "lambda x: x + 2"),
        (NESTED, "lambda x: (lambda y: y + 1)(x)"),
        (SPREAD[0], "lambda x: x + 10"),
        (SPREAD[1], "lambda x: x + 20"),
    ],
)
def test_lambdas_are_told_apart(function, expected):
    assert source(syntax.function_node(function)) == expected


def test_classes_are_found():
    assert syntax.class_node(Holder.Inner).name == "Inner"
    assert syntax.class_node(int) is None
    assert syntax.class_node(type("Made", (), {})) is None


def test_a_function_without_a_file_is_an_error_that_says_what_to_do():
    namespace = {}
    exec("def typed_in():\n    return 1\n", namespace)
    with pytest.raises(DefinitionError, match=r"typed_in.*move it to a file"):
        syntax.function_node(namespace["typed_in"])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("def f():\n    'Doc.'\n    return 1", "def f():\n    return 1"),
        ("class A:\n    'Doc.'\n    x = 1", "class A:\n    x = 1"),
        ("x = (1 +\n  2)  # three", "\n\nx = 1 + 2"),
        ("'module'\nx = 1", "x = 1"),
        ("x = 'a' 'b'", "x = 'ab'"),
    ],
)
def test_equal_code_has_an_equal_shape(first, second):
    assert shape(first) == shape(second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("x = 1", "x = 2"),
        ("x = 1", "x = True"),
        ("x = 1", "x = 1.0"),
        ("x = 1", "y = 1"),
        ("x = a - b", "x = b - a"),
        ("f(x)", "f(x, x)"),
        ("def f(a, b): pass", "def f(a, *, b): pass"),
        ("def f(a, b=1): pass", "def f(a=1, b=1): pass"),
        ("x = None", "x = 0"),
        ("x = [1]", "x = []"),
        ("def f():\n    return 'Doc.'", "def f():\n    'Doc.'"),
    ],
)
def test_other_code_has_another_shape(first, second):
    assert shape(first) != shape(second)


def test_dotted_names_are_read_with_what_follows():
    names = set(syntax.dotted_names(ast.parse("x = tl.math.exp(y) + z[0].w; q.r = 1")))
    assert names >= {("tl", "math", "exp"), ("y",), ("z",), ("q", "r")}
    assert ("x",) not in names


def test_own_names_are_those_of_the_functions_own_scope():
    node = syntax.function_node(scoped)
    assert syntax.own_names(node) == {"a", "b", "rest", "options", "x", "y", "i", "inner", "f"}


def scoped(a, /, b, *rest, **options):
    x = [item for item in a]  # noqa: C416
    for i, y in b:
        x += i + y

    def inner(hidden):
        secret = hidden * 2
        return secret + 1

    with a as f:
        return inner(f), lambda other: other, rest, options
