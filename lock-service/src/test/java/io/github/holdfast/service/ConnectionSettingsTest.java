package io.github.holdfast.service;

import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import com.zaxxer.hikari.HikariConfig;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What an application sets for its connections, in the URL or for each session, does not concern the locks. */
class ConnectionSettingsTest {

    /** Modes in which H2 imitates another database belong to the whole database, so each has one of its own. */
    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class InH2Memory {

        @ParameterizedTest
        @ValueSource(
                strings = {
                    "MODE=STRICT",
                    "MODE=LEGACY",
                    "MODE=PostgreSQL;DATABASE_TO_LOWER=TRUE;DEFAULT_NULL_ORDERING=HIGH",
                    "MODE=MySQL;DATABASE_TO_LOWER=TRUE;CASE_INSENSITIVE_IDENTIFIERS=TRUE",
                    "MODE=MariaDB",
                    "MODE=Oracle",
                    "MODE=MSSQLServer",
                    "MODE=DB2",
                    "MODE=Derby",
                    "MODE=HSQLDB",
                    "DATABASE_TO_UPPER=FALSE",
                    "CASE_INSENSITIVE_IDENTIFIERS=TRUE",
                    "NON_KEYWORDS=VALUE,USER,KEY",
                    "LOCK_TIMEOUT=500",
                    "DEFAULT_LOCK_TIMEOUT=500",
                    "AUTOCOMMIT=OFF",
                    "SCHEMA=PUBLIC",
                    "SCHEMA_SEARCH_PATH=INFORMATION_SCHEMA,PUBLIC",
                    "TIME ZONE=America/New_York",
                    "VARIABLE_BINARY=TRUE;MAX_MEMORY_ROWS=10"
                })
        void aSettingChangesNothing(String settings, Database database) throws Exception {
            String url = "jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1;" + settings;
            EveryKindOfLock.use(database, pool -> pool.setJdbcUrl(url), Map.of());
        }

        @ParameterizedTest
        @ValueSource(strings = {"OLD_INFORMATION_SCHEMA=TRUE", "LAZY_QUERY_EXECUTION=1"})
        void aSettingThatHidesTheClockIsRefusedByName(String setting, Database database) {
            String url = "jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1;" + setting;
            assertThatIllegalStateException()
                    .isThrownBy(() -> EveryKindOfLock.use(database, pool -> pool.setJdbcUrl(url), Map.of()))
                    .withMessageContaining(setting.replaceAll("=.*", ""));
        }
    }

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class InPostgreSql {

        @ParameterizedTest
        @ValueSource(
                strings = {
                    "stringtype=unspecified",
                    "stringtype=unspecified&preferQueryMode=simple",
                    "stringtype=unspecified&prepareThreshold=1",
                    "prepareThreshold=0",
                    "prepareThreshold=1",
                    "prepareThreshold=-1",
                    "preferQueryMode=simple",
                    "preferQueryMode=extendedForPrepared",
                    "preferQueryMode=extendedCacheEverything",
                    "currentSchema=public",
                    "currentSchema=missing,public",
                    "binaryTransfer=false",
                    "autosave=always",
                    "autosave=conservative&cleanupSavepoints=true",
                    "reWriteBatchedInserts=true",
                    "defaultRowFetchSize=1&adaptiveFetch=true",
                    "quoteReturningIdentifiers=false",
                    "assumeMinServerVersion=14&ApplicationName=an%20application",
                    "readOnlyMode=ignore&targetServerType=primary&loadBalanceHosts=true",
                    "options=-c%20search_path=public",
                    "options=-c%20standard_conforming_strings=off%20-c%20backslash_quote=on",
                    "options=-c%20DateStyle=German%20-c%20IntervalStyle=sql_standard%20-c%20TimeZone=America/St_Johns",
                    "options=-c%20lock_timeout=500%20-c%20statement_timeout=5000",
                    "options=-c%20default_transaction_isolation=serializable",
                    "options=-c%20default_transaction_deferrable=on%20-c%20synchronous_commit=on",
                    "options=-c%20plan_cache_mode=force_generic_plan%20-c%20enable_seqscan=off%20-c%20jit_above_cost=0",
                    "options=-c%20client_min_messages=warning",
                    "options=-c%20transform_null_equals=on%20-c%20array_nulls=off%20-c%20quote_all_identifiers=on",
                    "options=-c%20row_security=off%20-c%20extra_float_digits=0%20-c%20bytea_output=escape"
                })
        void aSettingChangesNothing(String settings, Database database) throws Exception {
            use(settings, database);
        }

        /** They hide the warning that a standby lacks a commit. */
        @Test
        void messagesWithoutWarningsAreRefusedByName(Database database) {
            assertThatIllegalStateException()
                    .isThrownBy(() -> use("options=-c%20client_min_messages=error", database))
                    .withMessageContaining("client_min_messages");
        }
    }

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    @Tag("other-database")
    class InMariaDb {

        @ParameterizedTest
        @ValueSource(
                strings = {
                    "useServerPrepStmts=true&cachePrepStmts=true",
                    "allowMultiQueries=true",
                    "rewriteBatchedStatements=true&useBulkStmts=true",
                    "useAffectedRows=true",
                    "tinyInt1isBit=false&yearIsDateType=false",
                    "transformedBitIsBoolean=false",
                    "disablePipeline=true&defaultFetchSize=1",
                    "connectionCollation=utf8mb4_general_ci",
                    "nullDatabaseMeansCurrent=true&useMysqlMetadata=true",
                    "sessionVariables=sql_mode=''",
                    "sessionVariables=sql_mode=ANSI_QUOTES",
                    "sessionVariables=sql_mode=ANSI",
                    "sessionVariables=sql_mode=NO_BACKSLASH_ESCAPES",
                    "sessionVariables=sql_mode=TRADITIONAL",
                    "sessionVariables=sql_mode=PAD_CHAR_TO_FULL_LENGTH",
                    "sessionVariables=sql_mode='ONLY_FULL_GROUP_BY,NO_UNSIGNED_SUBTRACTION,HIGH_NOT_PRECEDENCE'",
                    "sessionVariables=sql_mode=SIMULTANEOUS_ASSIGNMENT",
                    "sessionVariables=sql_mode=EMPTY_STRING_IS_NULL",
                    "sessionVariables=sql_mode=ORACLE",
                    "sessionVariables=sql_mode=MSSQL",
                    "sessionVariables=sql_auto_is_null=1",
                    "sessionVariables=completion_type=CHAIN",
                    "sessionVariables=autocommit=0",
                    "sessionVariables=innodb_lock_wait_timeout=1,max_statement_time=20",
                    "sessionVariables=time_zone='-03:30'",
                    "sessionVariables=tx_isolation='SERIALIZABLE'"
                })
        void aSettingChangesNothing(String settings, Database database) throws Exception {
            use(settings, database);
        }

        @Test
        void safeUpdatesAreRefusedByName(Database database) {
            assertThatSafeUpdatesAreRefused(database);
        }
    }

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    @Tag("other-database")
    class InMySql {

        @ParameterizedTest
        @ValueSource(
                strings = {
                    "characterEncoding=UTF-8",
                    "connectionCollation=utf8mb4_general_ci",
                    "connectionCollation=utf8mb4_bin",
                    "useServerPrepStmts=true&cachePrepStmts=true&cacheResultSetMetadata=true",
                    "useServerPrepStmts=true&useCursorFetch=true&defaultFetchSize=1",
                    "rewriteBatchedStatements=true&allowMultiQueries=true&continueBatchOnError=false",
                    "useAffectedRows=true",
                    "tinyInt1isBit=false&yearIsDateType=false",
                    "transformedBitIsBoolean=true",
                    "useLocalSessionState=true&useLocalTransactionState=true&elideSetAutoCommits=true&cacheServerConfiguration=true&alwaysSendSetIsolation=false",
                    "zeroDateTimeBehavior=CONVERT_TO_NULL&noDatetimeStringSync=true&jdbcCompliantTruncation=false",
                    "sendFractionalSeconds=false&preserveInstants=false",
                    "emulateUnsupportedPstmts=false&holdResultsOpenOverStatementClose=true&dontTrackOpenResources=true",
                    "blobsAreStrings=true&functionsNeverReturnBlobs=true&useOldAliasMetadataBehavior=true",
                    "enableQueryTimeouts=false",
                    "databaseTerm=SCHEMA&nullDatabaseMeansCurrent=true",
                    "useCompression=true&useUnbufferedInput=false&interactiveClient=true",
                    "sessionVariables=sql_mode=''",
                    "sessionVariables=sql_mode='ANSI_QUOTES'",
                    "sessionVariables=sql_mode='ANSI'",
                    "sessionVariables=sql_mode='NO_BACKSLASH_ESCAPES'",
                    "sessionVariables=sql_mode='TRADITIONAL'",
                    "sessionVariables=sql_mode='PAD_CHAR_TO_FULL_LENGTH'",
                    "sessionVariables=sql_mode='TIME_TRUNCATE_FRACTIONAL'",
                    "sessionVariables=sql_mode='ONLY_FULL_GROUP_BY,NO_UNSIGNED_SUBTRACTION,HIGH_NOT_PRECEDENCE'",
                    "sessionVariables=sql_auto_is_null=1",
                    "sessionVariables=completion_type=CHAIN",
                    "sessionVariables=autocommit=0",
                    "sessionVariables=innodb_lock_wait_timeout=1,max_execution_time=20000",
                    "sessionVariables=time_zone='-03:30'",
                    "sessionVariables=transaction_isolation='SERIALIZABLE'"
                })
        void aSettingChangesNothing(String settings, Database database) throws Exception {
            use(settings, database);
        }

        @Test
        void safeUpdatesAreRefusedByName(Database database) {
            assertThatSafeUpdatesAreRefused(database);
        }
    }

    private static void assertThatSafeUpdatesAreRefused(Database database) {
        assertThatIllegalStateException()
                .isThrownBy(() -> use("sessionVariables=sql_safe_updates=1", database))
                .withMessageContaining("sql_safe_updates");
    }

    private static void use(String settings, Database database) throws Exception {
        EveryKindOfLock.use(database, pool -> add(settings, pool), Map.of());
    }

    private static void add(String settings, HikariConfig pool) {
        String url = pool.getJdbcUrl();
        pool.setJdbcUrl(url + (url.contains("?") ? "&" : "?") + settings);
    }
}
