"""Writes and reads rows with psycopg 3, and asks the catalog. The first argument is the connection string."""

import datetime
import decimal
import sys

import psycopg

with psycopg.connect(sys.argv[1], autocommit=True) as connection:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE kinds (i bigint PRIMARY KEY, t text, n numeric(9,2), d date, b bytea, a int[], j jsonb)")
        day = datetime.date(2024, 2, 29)
        row = (1, "één", decimal.Decimal("1.50"), day, b"\x00\xff", [1, 2, None], psycopg.types.json.Jsonb({"k": [1]}))
        cursor.execute("INSERT INTO kinds VALUES (%s, %s, %s, %s, %s, %s, %s)", row)
        cursor.executemany("INSERT INTO kinds (i, t) VALUES (%s, %s)", [(at, str(at)) for at in range(2, 50)])
        print(cursor.execute("SELECT * FROM kinds WHERE i = %s", (1,)).fetchone())
        print(cursor.execute("SELECT count(*), max(i) FROM kinds WHERE t = ANY(%s)", (["2", "3"],)).fetchone())
        columns = cursor.execute("SELECT i, n, a FROM kinds LIMIT 1").description
        print([(column.name, column.type_code, column.precision, column.scale) for column in columns])
    with connection.cursor(binary=True) as cursor:
        print(cursor.execute("SELECT i, n, d, b, a, j FROM kinds WHERE i = 1").fetchone())
        question = "SELECT 'kinds'::regclass::oid > 16383 FROM pg_index WHERE indrelid = %s::regclass"
        print(cursor.execute(question, ("kinds",)).fetchone()[0])
    with connection.cursor() as cursor:
        question = "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute"
        condition = " WHERE attrelid = %s::regclass AND attnum > 0 ORDER BY attnum"
        print(cursor.execute(question + condition, ("kinds",)).fetchall())
        print(cursor.execute("SELECT 'kinds'::regclass, 1700::regtype, 'public'::regnamespace").fetchone())
        try:
            with connection.transaction():
                cursor.execute("INSERT INTO kinds (i) VALUES (7)")
        except psycopg.errors.UniqueViolation as error:
            print(error.sqlstate, error.diag.constraint_name, error.diag.table_name)
        with cursor.copy("COPY kinds (i, t) FROM STDIN") as copy:
            copy.write_row((100, "copied"))
        print(cursor.execute("SELECT t FROM kinds WHERE i = 100").fetchone())
    info = psycopg.types.TypeInfo.fetch(connection, "numeric")
    print(info.name, info.oid, info.array_oid)
    connection.execute("DROP TABLE kinds")
