"""The advisor's protocol, point by point, with clients that bring an advisor of their own.

The points are numbered through all files, from Anthropic's page on the tool and the types of its SDK, and from
OpenRouter's page on its own. A point that a `stage` is for holds over each API upstream, streamed and not.
"""
