"""Values, events, the client interface, errors and plug-ins. Imports only the standard library."""
