"""The floor of a server: aiohttp passes requests on as they are."""

import asyncio
import sys

from aiohttp import ClientSession, TCPConnector, web


async def main(upstream: str) -> None:
    async with ClientSession(connector=TCPConnector(limit=0), auto_decompress=False) as session:

        async def handle(request: web.Request) -> web.StreamResponse:
            body = await request.read()
            async with session.post(upstream, data=body, headers={"content-type": "application/json"}) as answer:
                if answer.content_type != "text/event-stream":
                    return web.Response(body=await answer.read(), content_type="application/json")
                response = web.StreamResponse(headers={"content-type": "text/event-stream"})
                await response.prepare(request)
                async for chunk in answer.content.iter_any():
                    await response.write(chunk)
                return response

        app = web.Application(client_max_size=2**25)
        app.router.add_post("/v1/chat/completions", handle)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        print("Listening on http://{}:{}".format(*runner.addresses[0][:2]), file=sys.stderr, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
