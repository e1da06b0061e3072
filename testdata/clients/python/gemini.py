"""Which schemas Gemini accepts for the arguments of a function."""

# The keys that the service's reference lists.
KNOWN = {
    "type", "format", "title", "description", "nullable", "enum", "items", "minItems",
    "maxItems", "properties", "required", "propertyOrdering", "minProperties", "maxProperties",
    "minimum", "maximum", "minLength", "maxLength", "pattern", "example", "anyOf", "default",
}  # fmt: skip


def accept(declarations):
    """Raises an error if one of the functions would be refused, and says why."""
    refused = []
    for declared in declarations:
        refused += refusals(declared["parameters"], declared["name"])
    if refused:
        raise AssertionError(refused)


def refusals(schema, path):
    yield from (f"{path} has {key}" for key in schema.keys() - KNOWN)
    if "type" not in schema and "anyOf" not in schema:
        yield f"{path} has no type"
    if schema.get("type") == "OBJECT" and not schema.get("properties"):
        yield f"{path} is an object without properties"
    if schema.get("type") == "ARRAY" and "items" not in schema:
        yield f"{path} is an array without items"
    for name, inner in schema.get("properties", {}).items():
        yield from refusals(inner, f"{path}.{name}")
    if "items" in schema:
        yield from refusals(schema["items"], f"{path}[]")
