"""DuckDB's extension of addfg gives of a packed run what the views have where it has rows. usage: extension.py EXTENSION PACKED PREPARED STORED"""

import sys

import duckdb

extension, packed, prepared, stored = sys.argv[1:]
STEPS = "seq, thread_id, time, instruction_id, executed"
ACCESSES = "seq, ordinal, is_write, space, address, size, value, is_control, is_stack_relative, data_register, thread_id"
COMMUNICATIONS = "write_seq, write_ordinal, read_seq, read_ordinal, space, address, bytes"


def connect(path=":memory:"):
    connection = duckdb.connect(path, read_only=path != ":memory:", config={"allow_unsigned_extensions": "true"})
    connection.load_extension(extension)
    return connection


def total(connection, relation):
    return connection.execute(f"SELECT count(*), sum(hash(t)) FROM ({relation}) t").fetchone()


def refused(connection, query, text):
    try:
        connection.execute(query)
    except duckdb.Error as error:
        assert text in str(error), (query, str(error))
        return
    raise AssertionError(query)


rows = connect(stored)
for path in (packed, prepared, stored):
    asked = connect(path)
    for arguments, condition in [("NULL, NULL", "true"), ("1000, 300000", "seq BETWEEN 1000 AND 300000"), ("7, 7", "seq = 7"), ("9, 8", "false")]:
        for function, view, columns in [("addfg_steps", "opcode_line", STEPS), ("addfg_accesses", "data_access", ACCESSES)]:
            wanted = total(rows, f"SELECT {columns} FROM {view} WHERE {condition}")
            assert total(asked, f"SELECT {columns} FROM {function}({arguments})") == wanted, (path, function, arguments)
            assert asked.execute(f"SELECT count(*) FROM {function}({arguments})").fetchone()[0] == wanted[0]
    if path == packed:
        refused(asked, "FROM addfg_communications(NULL, NULL)", "addfg prepare")
        continue
    wanted = total(rows, f"SELECT {COMMUNICATIONS} FROM communication")
    assert total(asked, f"SELECT {COMMUNICATIONS} FROM addfg_communications(NULL, NULL)") == wanted, path
    assert total(asked, "FROM addfg_calls_of(NULL)") == total(rows, "FROM function_call"), path
    hottest = "SELECT name FROM function_profile JOIN function_symbol USING (function_id) WHERE kind <> 'pseudo' ORDER BY steps_self DESC, 1 LIMIT 3"
    for (name,) in rows.execute(hottest).fetchall():
        of = f"SELECT function_id FROM function_symbol WHERE name = '{name}'"
        wanted = total(rows, f"SELECT * FROM function_call WHERE function_id IN ({of})")
        assert total(asked, f"FROM addfg_calls_of('{name}')") == wanted, (path, name)
        reads = f"SELECT seq FROM opcode_line JOIN instruction USING (instruction_id) WHERE function_id IN ({of})"
        wanted = total(rows, f"SELECT {COMMUNICATIONS} FROM communication WHERE read_seq IN ({reads})")
        assert total(asked, f"SELECT {COMMUNICATIONS} FROM addfg_communications(NULL, '{name}')") == wanted, (path, name)
    refused(asked, "FROM addfg_calls_of('nobody')", "no function has the name nobody")

none = connect()
refused(none, "FROM addfg_steps(1, 2)", "no database of addfg is open here")
none.execute(f"ATTACH '{packed}' AS one (READ_ONLY)")
first = none.execute("SELECT count(*) FROM addfg_steps(1, 9)").fetchone()
assert first == (9,), first
none.execute(f"ATTACH '{prepared}' AS \"the other\" (READ_ONLY)")
refused(none, "FROM addfg_steps(1, 2)", "which one?")
for name in ("one", "the other", "one"):
    assert none.execute(f"SELECT count(*) FROM addfg_steps(1, 9, database := '{name}')").fetchone() == (9,)
refused(none, "FROM addfg_steps(1, 2, database := 'third')", "third")
# The one that was asked last may go.
none.execute("DETACH one")
assert none.execute("SELECT count(*) FROM addfg_steps(1, 9)").fetchone() == (9,)
none.execute(f"ATTACH '{packed}' AS one (READ_ONLY)")
# In a statement that joins two of them, in several threads.
both = "SELECT count(*) FROM addfg_accesses(1, 100000, database := 'one') a JOIN addfg_accesses(1, 100000, database := 'the other') b USING (seq, ordinal)"
assert none.execute(both).fetchone() == rows.execute("SELECT count(*) FROM data_access WHERE seq <= 100000").fetchone()
asked.execute(f"ATTACH '{packed}' AS more (READ_ONLY)")
assert asked.execute("SELECT count(*) FROM addfg_steps(1, 9)").fetchone() == (9,)
print(duckdb.__version__, "ok")
