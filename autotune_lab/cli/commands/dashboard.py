"""``autotune-lab dashboard``: the store in Optuna's dashboard."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from autotune_lab.cli.queries import (
    KernelOption,
    ModelOption,
    ProblemOption,
    SimulatedOption,
    StudyOption,
)
from autotune_lab.cli.state import open_store

if TYPE_CHECKING:
    from autotune_lab.store.query import Query

HOST = "127.0.0.1"


def command(
    context: typer.Context,
    kernel: KernelOption = None,
    problem: ProblemOption = None,
    device_model: ModelOption = None,
    study: StudyOption = None,
    include_simulated: SimulatedOption = False,
    port: Annotated[int, typer.Option(help="0 takes a free one.", min=0, max=65535)] = 8080,
) -> None:
    """Serve Optuna's dashboard over the store, on this machine only.

    Shows one study for each kernel, problem and device, as it was when the command began.

    What is edited there is never stored.
    """
    from autotune_lab.store.query import Query

    wsgi = _dashboard()
    query = Query(
        kernel=kernel,
        problem=problem,
        device_model=device_model,
        study=study,
        include_simulated=include_simulated,
    )
    _serve(wsgi(_storage(context, query)), port)


def _dashboard() -> Any:
    """Return what makes the dashboard's application.

    Raises:
        UsageError: the extra is not installed.
    """
    from autotune_lab.errors import UsageError

    try:
        from optuna_dashboard import wsgi
    except ImportError:
        raise UsageError(
            "the dashboard is not installed; pip install 'autotune-lab[dashboard]'"
        ) from None
    return wsgi


def _storage(context: typer.Context, query: "Query") -> Any:
    from autotune_lab.analysis.optuna_studies import as_storage
    from autotune_lab.store import frames

    with open_store(context) as store:
        return as_storage(frames.contexts(store, query), frames.trials(store, query))


def _serve(application: Any, port: int) -> None:
    import contextlib
    import threading
    from wsgiref.simple_server import WSGIRequestHandler, make_server

    from autotune_lab.errors import UsageError

    class Quiet(WSGIRequestHandler):
        """Writes no line for each request."""

        def log_message(self, *_: Any) -> None:
            """Drop it."""

    try:
        server = make_server(HOST, port, application, handler_class=Quiet)
    except OSError as error:
        raise UsageError(
            f"port {port} of {HOST} can't be had ({error.strerror}); choose another with --port"
        ) from error
    with server:
        typer.echo(f"dashboard: http://{HOST}:{server.server_port} (Ctrl-C ends it)")
        # In a thread of its own: a Ctrl-C in the middle of an answer is swallowed by wsgiref.
        serving = threading.Thread(target=server.serve_forever, daemon=True)
        serving.start()
        with contextlib.suppress(KeyboardInterrupt):
            serving.join()
        server.shutdown()
