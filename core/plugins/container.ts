import 'reflect-metadata';
import {
  type ClassProvider,
  type DependencyContainer,
  injectable,
  inject as injectToken,
  Lifecycle,
  container as processContainer,
} from 'tsyringe';

/** A name for a service that carries the service's type. */
export type Token<Service> = symbol & { readonly resolvesTo?: () => Service };

export function createToken<Service>(description: string): Token<Service> {
  return Symbol(description);
}

type Constructor<Instance = object> = new (...parameters: never[]) => Instance;

/** Where a service goes into a constructor. A token of another type than the parameter's does not compile. */
export function inject<Service>(token: Token<Service>) {
  return <Target extends Constructor, Index extends number>(
    target: Target,
    _member: undefined,
    index: Service extends ConstructorParameters<Target>[Index] ? Index : never,
  ): void => injectToken(token)(target, undefined, index);
}

export { injectable };

/** Services of one plugin entry: what the root has, and its own instance of each scoped class. */
export interface EntryScope {
  provide<Service>(token: Token<Service>, service: Service): void;
  get<Service>(token: Token<Service>): Service;
  dispose(): Promise<void>;
}

/** Services of one gateway. Never the process-wide container: two gateways in a process share nothing. */
export interface RootScope {
  /** @param close Ends the service when the scope closes. Default: it needs no end. */
  provide<Service>(token: Token<Service>, service: Service, close?: Close<Service>): void;
  /** Makes the service when it is first asked for. */
  provideFactory<Service>(token: Token<Service>, create: (get: Resolve) => Service, close?: Close<Service>): void;
  /** A class that every entry gets an instance of its own of. All of these come before the first `createEntry`. */
  provideScoped<Service>(token: Token<Service>, implementation: Constructor<Service & object>): void;
  readonly get: Resolve;
  createEntry(): EntryScope;
  /**
   * Closes the services in reverse order: each before those that it was made of. One that fails to close stops no other.
   * Idempotent.
   * @throws what the first of them threw.
   */
  close(): Promise<void>;
}

export type Resolve = <Service>(token: Token<Service>) => Service;
type Close<Service> = (service: Service) => Promise<void> | void;

/** The only place where a container is made or asked. */
export function createRootScope(): RootScope {
  const root = processContainer.createChildContainer();
  const get: Resolve = <Service>(token: Token<Service>) => root.resolve<Service>(token);
  // tsyringe disposes of nothing that a factory made.
  const closes: (() => Promise<void> | void)[] = [];
  let closing: Promise<void> | undefined;

  async function closeAll(): Promise<void> {
    const failures: unknown[] = [];
    for (const close of closes.reverse()) {
      try {
        await close();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  return {
    provide(token, service, close) {
      root.register(token, { useValue: service });
      if (close) closes.push(() => close(service));
    },
    provideFactory<Service>(token: Token<Service>, create: (get: Resolve) => Service, close?: Close<Service>) {
      let made: { service: Service } | undefined;
      const make = () => {
        const service = create(get);
        if (close) closes.push(() => close(service));
        return { service };
      };
      root.register(token, {
        useFactory() {
          made ??= make();
          return made.service;
        },
      });
    },
    provideScoped: (token, implementation) =>
      void root.register(token, { useClass: implementation } as ClassProvider<unknown>, {
        lifecycle: Lifecycle.ContainerScoped,
      }),
    get,
    createEntry: () => createEntryScope(root.createChildContainer()),
    close() {
      closing ??= closeAll();
      return closing;
    },
  };
}

function createEntryScope(child: DependencyContainer): EntryScope {
  return {
    provide: (token, service) => void child.register(token, { useValue: service }),
    get: <Service>(token: Token<Service>) => child.resolve<Service>(token),
    dispose: async () => child.dispose(),
  };
}
