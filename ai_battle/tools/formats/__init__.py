"""Clients that give models without native tool calling the same interface."""
