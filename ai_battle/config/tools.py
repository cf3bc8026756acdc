"""The schema of `discussion.tools`."""

from typing import Annotated, Literal, TypeAlias, get_args

from pydantic import Field

from .values import AS_NUMBER, ENTRIES, Amount, Flag, FreeMapping, Listed, Name, Positive, Seconds, Section, short_for

Sandbox = Literal["auto", "strict", "docker", "none"]
Verdict: TypeAlias = Literal["allow", "ask", "deny"]
STRICTER: tuple[Verdict, ...] = get_args(Verdict)


class RegisteredTool(Section):
    """A tool and its settings; a plain name is short for `{name: ...}`."""

    name: Name = Field(description="Name of a built-in or drop-in tool.", examples=["code_execution"])
    enabled: Flag = Field(default=True, description="Whether models may use it.")
    parameters: FreeMapping = Field(default={}, description="The tool's own settings.", examples=[{"timeout": 15}])


class McpServer(Section):
    """An MCP server: a command to start, or the URL of a running one."""

    command: str = Field(default="", description="Program to start; it speaks MCP on stdin and stdout.")
    args: Listed[str] = Field(default=(), description="The program's arguments.")
    env: dict[str, str] = Field(default={}, description="Environment variables for the program.")
    cwd: str = Field(default="", description="Folder to start the program in; default: that of this file.")
    headers: dict[str, str] = Field(default={}, description="HTTP headers for the URL.")
    url: str = Field(default="", description="Address of a running server.", examples=["http://127.0.0.1:8000/mcp"])
    timeout: Seconds = Field(default=60.0, description="Seconds that a call may take.")
    start_timeout: Seconds = Field(default=30.0, description="Seconds that the server may take to start.")


class Mcp(Section):
    """Tools of MCP servers, offered as `server:tool`."""

    servers: dict[Name, McpServer] = Field(default={}, description="The servers by name.")


class Approval(Section):
    """Which tool calls run, are refused, or need a person's approval. The stricter of two rules applies."""

    default: Verdict | None = Field(
        default=None,
        description="Applies to tools not listed. Without it, a person is asked about calls that write, send or pay, "
        "and about code outside a sandbox; all others run.",
        examples=["allow"],
    )
    allow: Listed[Name] = Field(default=(), description="Tools that run without asking.")
    ask: Listed[Name] = Field(default=(), description="Tools that a person is asked about.")
    deny: Listed[Name] = Field(default=(), description="Tools that are refused.")

    @property
    def tool_names(self) -> tuple[str, ...]:
        return (*self.allow, *self.ask, *self.deny)

    def verdict(self, tool: str) -> Verdict | None:
        """Returns the strictest list that names the tool, else the default; None if there is none."""
        return next((listed for listed in reversed(STRICTER) if tool in getattr(self, listed)), self.default)


class Runner(Section):
    """How the tool calls of one turn are run."""

    max_rounds: Annotated[int, Field(ge=1, le=1000), AS_NUMBER] = Field(
        default=3, description="Rounds of calls and results in one turn."
    )
    allow_chaining: Flag = Field(default=True, description="Whether results may lead to further calls.")
    summarize_threshold: Positive = Field(
        default=4000,
        description="Once results have more characters than this, the answer is written without further calls.",
    )
    backoff_seconds: Amount = Field(
        default=0.1,
        description="Seconds to wait after a round of calls that brought nothing new; doubled with each further one.",
    )


class Tools(Section):
    """Tools that the models may use. A name, or a list of names, is short for an enabled registry."""

    enabled: Flag = Field(default=True, description="Whether tools are used at all.")
    registry: Listed[Annotated[RegisteredTool, short_for("name")]] = Field(default=(), description="The tools.")
    paths: Listed[Name] = Field(
        default=(), description="Python files with drop-in tools.", examples=[["../tools/dice.py"]]
    )
    mcp: Mcp = Field(default=Mcp(), description="Tools of MCP servers.")
    workspace: str = Field(
        default="", description="Folder that file and code tools may use; default: one in the run directory."
    )
    sandbox: Sandbox = Field(
        default="auto",
        description="The sandbox for code. auto never takes docker; none also needs --allow-unsandboxed.",
    )
    allow_hosts: Listed[Name] = Field(default=(), description="Hosts that sandboxed code may reach.")
    calling: Literal["auto", "native", "json", "text"] = Field(
        default="auto", description="How tools are offered to models."
    )
    tool_format: str = Field(
        default="",
        description="The format of calls that models write as text: fenced, json, xml, or a plug-in's.",
        examples=["fenced"],
    )
    approval: Approval = Field(default=Approval(), description="Which calls a person is asked about.")
    runner: Runner = Field(default=Runner(), description="How calls are run.")

    @property
    def foreign_code(self) -> tuple[str, ...]:
        """The code that these settings would import or start, which has to be trusted first."""
        dotted = (entry.name for entry in self.registry if entry.enabled and "." in entry.name)
        servers = self.mcp.servers.values()
        started = (" ".join((server.command, *server.args)) for server in servers if server.command)
        return (*self.paths, *dotted, *started) if self.enabled else ()


AnyTools = Annotated[Tools, short_for("registry", list | tuple | str, ENTRIES)]
