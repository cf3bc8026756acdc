"""Arguments that only can mean one thing are mended; of all others the model is told what was expected."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator, Draft202012Validator

from ai_battle.wire.dialects.arguments import arguments_error, fit
from ai_battle.wire.dialects.schemas import schema_problems, signature


def one(schema: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"value": schema}, **more}


TEXT, WHOLE, NUMBER, FLAG = ({"type": name} for name in ("string", "integer", "number", "boolean"))
TEXTS = {"type": "array", "items": TEXT}
MAYBE = {"anyOf": [WHOLE, {"type": "null"}]}
POINT = {"type": "object", "properties": {"x_axis": NUMBER}, "required": ["x_axis"]}


@pytest.mark.parametrize(
    ("schema", "given", "meant"),
    [
        (WHOLE, "5", 5),
        (WHOLE, " -5 ", -5),
        (WHOLE, "5.0", 5),
        (WHOLE, 5.0, 5),
        (NUMBER, "5.5", 5.5),
        (NUMBER, "1e3", 1000.0),
        (FLAG, "true", True),
        (FLAG, "False", False),
        (TEXT, 5, "5"),
        (TEXT, 5.5, "5.5"),
        (TEXT, True, "true"),
        (TEXTS, "one", ["one"]),
        (TEXTS, '["one", "two"]', ["one", "two"]),
        (TEXTS, [1, "two"], ["1", "two"]),
        ({"type": "array", "items": POINT}, {"x_axis": 1}, [{"x_axis": 1}]),
        (POINT, '{"x_axis": 1}', {"x_axis": 1}),
        (POINT, {"xAxis": "1"}, {"x_axis": 1}),
        (POINT, {"X-Axis": 1}, {"x_axis": 1}),
        ({"enum": ["list", "read"]}, "READ", "read"),
        ({"enum": ["no_meta", "ai_ai"]}, "no-meta", "no_meta"),
        ({"type": "string", "enum": ["1", "2"]}, 2, "2"),
        ({"type": "integer", "enum": [1, 2]}, "2", 2),
        (MAYBE, "7", 7),
        (MAYBE, "null", None),
        ({"type": ["integer", "null"]}, "7", 7),
        ({"anyOf": [WHOLE, NUMBER]}, "7", 7),
        ({"allOf": [WHOLE, {"minimum": 1}]}, "7", 7),
    ],
    ids=str,
)
def test_what_can_mean_one_thing_only_is_mended(schema: dict[str, Any], given: Any, meant: Any) -> None:
    fitted = fit({"value": given}, one(schema))
    assert not fitted.problems
    assert fitted.arguments == {"value": meant}
    assert type(fitted.arguments["value"]) is type(meant)


@pytest.mark.parametrize(
    ("schema", "given", "said"),
    [
        (WHOLE, "five", 'value: expected integer, got "five"'),
        (WHOLE, "5 apples", "expected integer"),
        (WHOLE, "5.5", "expected integer"),
        (WHOLE, 5.5, "expected integer"),
        (WHOLE, True, "expected integer, got true"),
        (WHOLE, "9" * 5000, "expected integer"),
        (NUMBER, "nan", "expected number"),
        (NUMBER, "1e999", "expected number"),
        (FLAG, "yes", "expected boolean"),
        (FLAG, 1, "expected boolean, got 1"),
        (TEXT, ["a"], 'expected string, got ["a"]'),
        (TEXTS, {"a": 1}, "expected array of string"),
        (POINT, {"y": 1}, "value.x_axis: required (number), but missing"),
        (POINT, "x=1", "expected {x_axis: number}"),
        ({"enum": ["list", "read"]}, "delete", 'expected one of "list", "read", got "delete"'),
        ({"enum": ["a_b", "ab"]}, "A-B", "expected one of"),
        ({"anyOf": [WHOLE, FLAG]}, "seven", "expected integer or boolean"),
        ({"anyOf": [TEXTS, WHOLE]}, "7", "expected array of string or integer"),
        ({"type": "integer", "minimum": 1, "maximum": 9}, "10", "expected at most 9, got 10"),
        ({"type": "string", "minLength": 2}, "a", "at least 2"),
        ({"type": "string", "pattern": "^a+$"}, "b", "matches"),
        ({"type": "array", "maxItems": 1}, [1, 2], "at most 1"),
        ({"not": TEXT}, "a", "not allowed"),
        ({"const": 3}, 4, "expected 3, got 4"),
        ({"type": "number", "multipleOf": 1.5}, float("inf"), "a multiple of 1.5"),
        ({"type": "number", "multipleOf": 1.5}, 10**400 + 1, "a multiple of 1.5"),
        ({"type": "string", "pattern": "^(a+)+$"}, "a" * 5_000 + "!", "matches"),
        ({"type": "string", "pattern": "^(a|a)*$"}, "a" * 5_000 + "!", "matches"),
    ],
    ids=str,
)
def test_what_can_not_be_mended_is_told_with_what_was_expected(schema: dict[str, Any], given: Any, said: str) -> None:
    fitted = fit({"value": given}, one(schema))
    assert any(said in problem for problem in fitted.problems), fitted


def test_a_value_of_another_type_is_told_once() -> None:
    [said] = fit({"value": "HIGH"}, one({"type": "integer", "enum": [1, 2, 3]})).problems
    assert said.startswith("value: expected 1 | 2 | 3")


def test_a_pattern_that_can_not_be_matched_in_linear_time_is_left_to_the_tool() -> None:
    for pattern in (r"^(?=a)b", r"(a)\1", "(", "(a{1000}){1000}"):
        assert fit({"value": "x"}, one({"type": "string", "pattern": pattern})).problems == ()


@pytest.mark.parametrize("rule", [{"minimum": "1"}, {"exclusiveMinimum": True}, {"multipleOf": 0}, {"maximum": None}])
def test_a_rule_that_is_no_rule_of_json_schema_allows_every_value(rule: dict[str, Any]) -> None:
    assert fit({"value": -7.5}, one({"type": "number", **rule})).problems == ()


def test_of_very_many_wrong_names_the_first_are_told() -> None:
    schema = {"type": "object", "properties": {f"name_{n}": TEXT for n in range(50)}, "additionalProperties": False}
    fitted = fit({f"wrong_{n}": n for n in range(5_000)}, schema)
    assert len(fitted.problems) == 5_000
    said = arguments_error("it", schema, fitted.problems)
    assert "; and 4,980 more. It takes it(name_0?: string" in said
    assert len(said) < 4_000


def test_every_mending_is_recorded() -> None:
    fitted = fit({"fileName": 7}, {"type": "object", "properties": {"file_name": TEXT}})
    assert fitted.repairs == ("fileName: taken for file_name", 'file_name: 7 taken for "7"')


def test_what_fits_stays_as_it_is() -> None:
    arguments = {"value": "5", "other": [1, {"a": None}]}
    fitted = fit(arguments, one(TEXT))
    assert (fitted.arguments, fitted.repairs, fitted.problems) == (arguments, (), ())


def test_null_for_something_optional_counts_as_left_out() -> None:
    assert fit({"value": None}, one(TEXT)).arguments == {}
    assert fit({"value": None}, one(MAYBE)).arguments == {"value": None}
    assert fit({"value": None}, one({"type": "string", "nullable": True})).arguments == {"value": None}
    assert fit({"value": None}, one(TEXT, required=["value"])).problems


def test_two_names_for_one_parameter_are_not_guessed_at() -> None:
    schema = {"type": "object", "properties": {"file_name": TEXT}, "additionalProperties": False}
    fitted = fit({"fileName": "a", "FILE-NAME": "b"}, schema)
    assert len(fitted.problems) == 2


def test_a_name_that_nobody_knows_is_told_with_the_one_that_was_meant() -> None:
    schema = one(TEXT, additionalProperties=False)
    assert fit({"valu": "a"}, schema).problems == ("valu: there is no such parameter; did you mean 'value'",)
    assert not fit({"valu": "a"}, one(TEXT)).problems


def test_the_error_for_the_model_says_what_the_tool_takes() -> None:
    schema = {
        "type": "object",
        "properties": {"action": {"enum": ["list", "read"]}, "path": TEXT, "tags": TEXTS},
        "required": ["action"],
    }
    assert signature("files", schema) == 'files(action: "list" | "read", path?: string, tags?: array of string)'
    text = arguments_error("files", schema, fit({"action": 1}, schema).problems)
    assert text.startswith('The arguments of files do not fit: action: expected one of "list", "read", got 1.')
    assert text.endswith(signature("files", schema))


def test_references_are_followed_and_circles_end() -> None:
    tree = {"type": "object", "properties": {"size": WHOLE, "inner": {"$ref": "#/$defs/tree"}}}
    schema = {**one({"$ref": "#/$defs/tree"}), "$defs": {"tree": tree, "loop": {"$ref": "#/$defs/loop"}}}
    fitted = fit({"value": {"inner": {"inner": {"size": "3"}}}}, schema)
    assert fitted.arguments["value"]["inner"]["inner"]["size"] == 3
    assert not fit({"value": 1}, {**one({"$ref": "#/$defs/loop"}), "$defs": schema["$defs"]}).problems


def test_a_schema_that_branches_for_ever_comes_to_an_end() -> None:
    fork = {"anyOf": [{"$ref": "#/$defs/fork"}, {"$ref": "#/$defs/fork"}]}
    assert fit({"value": 1}, {**one({"$ref": "#/$defs/fork"}), "$defs": {"fork": fork}}).problems
    wide = {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/wide"}}] * 20}
    value: Any = 1
    for _ in range(20):
        value = [value]
    assert fit({"value": value}, {**one({"$ref": "#/$defs/wide"}), "$defs": {"wide": wide}}).problems


def test_arguments_that_are_nested_without_end_are_a_problem_not_a_crash() -> None:
    value: Any = 1
    for _ in range(20_000):
        value = [value]
    assert fit({"value": value}, one({"type": "array", "items": {}})).problems
    assert fit({"value": value}, one(TEXT)).problems


def test_a_number_of_thousands_of_digits_is_no_crash() -> None:
    assert fit({"value": 10**9000}, one(TEXTS)).problems
    assert fit({"value": 10**9000}, one({"enum": [1, 2]})).problems


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "objet"}, "did you mean 'object'?"),
        ({"properties": {"a": {"type": "str"}}}, "properties.a.type"),
        ({"properties": []}, "properties: must be an object"),
        ({"properties": {"a": 3}}, "properties.a: a schema is an object, not 3"),
        ({"required": "a"}, "required: must be a list of names"),
        ({"enum": "a"}, "enum: must be a list"),
        ({"anyOf": []}, "anyOf"),
        ({"minimum": "1"}, "minimum: must be a number"),
        ({"properties": {"a": {"$ref": "#/$defs/b"}}}, "leads nowhere"),
        ("object", "a schema is an object"),
        ([], "a schema is an object"),
    ],
    ids=str,
)
def test_what_is_no_json_schema_is_told_with_its_place(schema: Any, said: str) -> None:
    assert any(said in problem for problem in schema_problems(schema)), schema_problems(schema)


scalars = st.none() | st.booleans() | st.integers(-3, 12) | st.sampled_from([0.5, 2.0, "", "5", "true", "red", "x y"])
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
)
flat = st.one_of(
    st.sampled_from([{}, {"type": "null"}, TEXT, WHOLE, NUMBER, FLAG, {"type": ["integer", "string"]}]),
    st.fixed_dictionaries({"enum": st.lists(scalars, min_size=1, max_size=3)}),
    st.fixed_dictionaries({"type": st.just("integer"), "minimum": st.integers(0, 5), "maximum": st.integers(5, 9)}),
    st.fixed_dictionaries({"type": st.just("string"), "maxLength": st.integers(0, 4), "pattern": st.just("^[a-z]*$")}),
)
schemas = st.recursive(
    flat,
    lambda inner: st.one_of(
        st.fixed_dictionaries({"type": st.just("array"), "items": inner, "uniqueItems": st.booleans()}),
        st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=2)}),
        st.fixed_dictionaries({"allOf": st.lists(inner, min_size=1, max_size=2)}),
        st.fixed_dictionaries({"not": inner}),
        st.fixed_dictionaries(
            {
                "type": st.just("object"),
                "properties": st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
                "required": st.lists(st.sampled_from("ab"), max_size=2, unique=True),
                "additionalProperties": st.booleans(),
            }
        ),
    ),
    max_leaves=5,
)


@given(schemas, values)
def test_what_jsonschema_takes_is_taken_unchanged_and_what_is_mended_fits(schema: dict[str, Any], value: Any) -> None:
    """Against an independent validator: nothing valid is refused or altered, nothing invalid comes out as fitting."""
    whole = one(schema, required=["value"])
    validator = Draft202012Validator(whole)
    fitted = fit({"value": value}, whole)
    if validator.is_valid({"value": value}):
        assert (fitted.problems, fitted.repairs) == ((), ())
        assert fitted.arguments == {"value": value}
    elif not fitted.problems:
        assert fitted.repairs
        assert validator.is_valid(fitted.arguments)


@given(
    st.recursive(values, lambda inner: st.dictionaries(st.sampled_from(["type", "items", "enum", "required"]), inner))
)
def test_what_is_found_to_be_a_schema_is_one(schema: Any) -> None:
    """Of this draft or of an older one; that a name may be required but once, nobody is refused for."""

    def complaints(draft: type[Draft7Validator | Draft202012Validator]) -> list[str]:
        errors = draft(draft.META_SCHEMA).iter_errors(schema)
        return [error.message for error in errors if error.validator != "uniqueItems"]

    if not schema_problems(schema):
        assert not complaints(Draft202012Validator) or not complaints(Draft7Validator)
