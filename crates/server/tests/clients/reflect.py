"""Prints what SQLAlchemy reflects of tables, and writes and reads rows through its ORM. The first argument is the URL."""

import enum
import sys

from sqlalchemy import CheckConstraint, Integer, String, create_engine, func, inspect, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column


class Base(DeclarativeBase):
    pass


class Mood(enum.Enum):
    sad = 1
    happy = 2


class Reader(Base):
    __tablename__ = "reader"
    __table_args__ = (CheckConstraint("age > 0", name="reader_age"),)

    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    name: Mapped[str] = mapped_column(String(20), unique=True)
    age: Mapped[int | None]
    mood: Mapped[Mood] = mapped_column(default=Mood.happy, index=True)


engine = create_engine(sys.argv[1])
inspector = inspect(engine)
print("schemas", sorted(inspector.get_schema_names()))
print("tables", sorted(inspector.get_table_names()), "views", inspector.get_view_names())
print("sequences", sorted(inspector.get_sequence_names()))
for table in ["author", "book"]:
    for column in inspector.get_columns(table):
        shown = {name: str(value) for name, value in column.items() if value is not None}
        print(table, sorted(shown.items()))
    print(table, "key", sorted((name, value) for name, value in inspector.get_pk_constraint(table).items() if name != "comment"))
    for index in sorted(inspector.get_indexes(table), key=lambda index: index["name"]):
        print(table, "index", index["name"], index["column_names"], index["unique"], index.get("duplicates_constraint"))
    print(table, "unique", [(found["name"], found["column_names"]) for found in inspector.get_unique_constraints(table)])
    print(table, "foreign", inspector.get_foreign_keys(table))
    print(table, "checks", [(found["name"], found["sqltext"]) for found in inspector.get_check_constraints(table)])
    print(table, "comment", inspector.get_table_comment(table))

Base.metadata.create_all(engine)
Base.metadata.create_all(engine)
with Session(engine) as session:
    session.add_all([Reader(name="ann", age=30), Reader(name="bob")])
    session.commit()
    ann = session.scalars(select(Reader).where(Reader.name == "ann")).one()
    ann.age += 1
    session.commit()
    print([(reader.id, reader.name, reader.age) for reader in session.scalars(select(Reader).order_by(Reader.id))])
    print(session.execute(select(Reader.mood, func.count()).where(Reader.mood > Mood.sad).group_by(Reader.mood)).all())
    print(inspect(engine).get_enums(), inspect(engine).get_columns("reader")[-1]["type"].enums)
    print(session.scalar(select(func.count()).select_from(Reader)))
    session.delete(ann)
    session.commit()
    print(session.scalar(select(func.max(Reader.name))))
Base.metadata.drop_all(engine)
print(inspect(engine).has_table("reader"), inspect(engine).get_enums())
