"""The four APIs as their providers document them, written apart from `ai_battle.wire`, so that an error there shows."""
