"""Answers with one thing changed, by a machine: do the checks notice?"""
