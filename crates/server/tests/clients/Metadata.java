import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.List;

/** Prints what the JDBC driver of PostgreSQL finds out about tables. The first argument is the URL. */
public class Metadata {
    private static final List<String> TYPES = Arrays.asList("bool", "int4", "text", "numeric", "timestamptz", "_int4", "jsonb");

    public static void main(String[] arguments) throws SQLException {
        try (Connection connection = DriverManager.getConnection(arguments[0])) {
            DatabaseMetaData data = connection.getMetaData();
            String[] kinds = {"TABLE", "VIEW", "SEQUENCE", "INDEX"};
            show("getSchemas", data.getSchemas(), "TABLE_SCHEM");
            show("getTables", data.getTables(null, "public", "%", kinds), "TABLE_SCHEM", "TABLE_NAME", "TABLE_TYPE", "REMARKS");
            show("getTableTypes", data.getTableTypes(), "TABLE_TYPE");
            show("getColumns", data.getColumns(null, "public", "%", "%"), "TABLE_NAME", "COLUMN_NAME", "DATA_TYPE", "TYPE_NAME",
                "COLUMN_SIZE", "DECIMAL_DIGITS", "NULLABLE", "REMARKS", "COLUMN_DEF", "ORDINAL_POSITION", "IS_NULLABLE",
                "IS_AUTOINCREMENT");
            for (String table : new String[] {"author", "book"}) {
                show("getPrimaryKeys", data.getPrimaryKeys(null, "public", table), "TABLE_NAME", "COLUMN_NAME", "KEY_SEQ",
                    "PK_NAME");
                show("getIndexInfo", data.getIndexInfo(null, "public", table, false, false), "TABLE_NAME", "NON_UNIQUE",
                    "INDEX_NAME", "TYPE", "ORDINAL_POSITION", "COLUMN_NAME", "ASC_OR_DESC");
                show("getImportedKeys", data.getImportedKeys(null, "public", table), "FKTABLE_NAME", "FKCOLUMN_NAME");
                show("getExportedKeys", data.getExportedKeys(null, "public", table), "FKTABLE_NAME", "FKCOLUMN_NAME");
            }
            show("getTypeInfo", data.getTypeInfo(), "TYPE_NAME", "DATA_TYPE", "NULLABLE", "CASE_SENSITIVE", "SEARCHABLE");
            show("getProcedures", data.getProcedures(null, "public", "%"), "PROCEDURE_NAME");
            show("getTablePrivileges", data.getTablePrivileges(null, "public", "book"), "GRANTEE", "PRIVILEGE");
            try (ResultSet rows = connection.createStatement().executeQuery("SELECT id, name, rating, tags FROM author")) {
                ResultSetMetaData columns = rows.getMetaData();
                for (int at = 1; at <= columns.getColumnCount(); at++) {
                    System.out.println(columns.getColumnName(at) + " " + columns.getTableName(at)
                        + " " + columns.getColumnTypeName(at) + " " + columns.isNullable(at) + " " + columns.isAutoIncrement(at) + " " + columns.getPrecision(at));
                }
            }
        }
    }

    private static void show(String name, ResultSet rows, String... columns) throws SQLException {
        System.out.println("-- " + name);
        while (rows.next()) {
            if (name.equals("getTypeInfo") && !TYPES.contains(rows.getString("TYPE_NAME"))) {
                continue;
            }
            StringBuilder line = new StringBuilder();
            for (String column : columns) {
                line.append(line.length() > 0 ? "|" : "").append(rows.getString(column));
            }
            System.out.println(line);
        }
        rows.close();
    }
}
