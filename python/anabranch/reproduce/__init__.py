"""Published evaluations run again: backends yield values, one judge sets them against claims, one report has all."""
