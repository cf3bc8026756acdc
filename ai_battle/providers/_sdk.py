"""The transport through an official SDK's client, for its authentication and its variants such as Azure or Vertex."""

import os
import zlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from functools import cache
from types import ModuleType
from typing import Any

from pydantic_core import from_json

from ..core import plugins
from ..core.errors import ProviderError
from ..core.plugins import translate_errors
from ._breaker import loop_resource
from ._settings import Access
from ._transport import HttpReply, Sdk, Transport, decompress

_PLAIN = ("AsyncOpenAI", "AsyncAnthropic")


class SdkTransport(Transport):
    """Sends bodies as bytes, or as mappings to variants (Azure, Vertex) that build their URL from them."""

    def __init__(self, access: Access, sdk: Sdk) -> None:
        self.access = access
        self._package = plugins.optional(sdk.package, sdk.package)
        self._http = plugins.optional(sdk.http, sdk.package)
        self._sdk = sdk
        self._timeout = self._http.Timeout(None, connect=access.settings.deadlines.connect)
        self._send = self._send_raw if sdk.raw else self._send_through
        self.breaks = (self._http.HTTPError, getattr(self._package, "APIConnectionError", OSError), OSError, zlib.error)

    async def require_listener(self) -> None:
        """Does nothing, as only the SDK knows the address of a variant such as Vertex."""

    async def exchange(
        self, method: str, url: str, body: bytes, headers: Mapping[str, str], on_sent: Callable[[], None]
    ) -> tuple[str, HttpReply]:
        """Calls the SDK. All its exceptions, such as those for credentials, become `ProviderError`."""
        on_sent()  # an SDK does not say when it sends
        own = {"content-type": "application/json", "accept-encoding": "identity", **self.access.headers}
        with translate_errors(str(self.access), ProviderError):
            response = await self.wait_for(self._send(method, url, body, {**own, **headers}))
        encoding = response.headers.get("content-encoding", "identity")
        raw = _single_chunk(response.content) if response.is_closed else response.aiter_raw()
        unpacked = encoding == "identity" or (response.is_closed and _is_text(response.content))
        chunks = raw if unpacked else decompress(encoding, raw)

        def read() -> Awaitable[bytes]:
            return self.wait_for(anext(chunks, b""))

        async def close() -> None:
            for each in (chunks, raw, response):
                await each.aclose()

        return str(response.request.url), HttpReply(response.status_code, response.headers, read, close)

    async def _client(self) -> Any:
        if self.access.settings.client is not None:
            return self.access.settings.client
        key = (SdkTransport, self._sdk.package, self.access.url, *self.access.headers.items())
        files = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
        return await loop_resource(key, lambda: self._sdk.make(self._package, _certificates(self._http, *files)))

    async def _send_through(self, method: str, url: str, body: bytes, headers: dict[str, str]) -> Any:
        """Sends through `openai` or `anthropic`, whose exceptions for a status become ordinary responses."""
        client = await self._client()
        options = {"headers": headers, "timeout": self._timeout, "max_retries": 0, "follow_redirects": False}
        arguments = {"options": options, "cast_to": self._http.Response, "stream": True}
        try:
            if method == "GET":
                return await client.get(url, stream_cls=self._package.AsyncStream, **arguments)
            content = {"content": body} if type(client).__name__ in _PLAIN else {"body": from_json(body)}
            return await client.post(url, stream_cls=self._package.AsyncStream, **arguments, **content)
        except self._package.APIStatusError as error:
            return error.response

    async def _send_raw(self, method: str, url: str, body: bytes, headers: dict[str, str]) -> Any:
        """Sends through the HTTP client inside a `raw` SDK."""
        http = (await self._client())._client
        request = http.build_request(method, url, content=body, headers=headers, timeout=self._timeout)
        return await http.send(request, stream=True, follow_redirects=False)


@cache
def _certificates(http: ModuleType, file: str | None, folder: str | None) -> Any:
    """Returns the SSL context, read once per certificate file, since reading takes longer than many calls."""
    return http.create_ssl_context()


def _is_text(content: bytes) -> bool:
    """Checks whether the SDK has decompressed the body of an error."""
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


async def _single_chunk(content: bytes) -> AsyncGenerator[bytes]:
    """Yields the body of an error response, which the SDK has read already."""
    yield content
